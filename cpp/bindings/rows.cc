#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/arrow_column.h"
#include "bindings/arrow.h"
#include "bindings/bindings.h"
#include "bindings/python_row.h"
#include "row/row_decoder.h"
#include "row/row_encoder.h"

namespace flint {
namespace {

// The row format by itself: what a table's values and state are stored as.
struct Rows {
  std::shared_ptr<const RowSchema> schema;
  std::unique_ptr<const PythonRow> objects;

  static Rows Make(std::shared_ptr<const RowSchema> schema, bool named_tuples, bool bare) {
    StructForm form = named_tuples ? StructForm::kNamedTuple : StructForm::kDict;
    auto objects = bare ? PythonRow::ForCell(schema, form) : PythonRow::ForTable(schema, form);
    return {schema, Unwrap(std::move(objects))};
  }
};

std::vector<ColumnDefault> DefaultsOf(const Schema& schema, const py::dict& defaults) {
  std::vector<ColumnDefault> packed;
  for (auto [name, value] : defaults) {
    auto column = name.cast<std::string>();
    int k = schema.IndexOf(column);
    if (k < 0) Check(Status::Invalid("defaults: there is no column '" + column + "'"));
    Rows one = Rows::Make(Unwrap(RowSchema::Make({{schema[static_cast<size_t>(k)]}})), true, false);
    packed.push_back({column, Unwrap(one.objects->PackValue(0, value.ptr()))});
  }
  return packed;
}

// Rows of batches, one after another, as one column of bytes.
Result<OwnedArray> EncodeAll(const Rows& rows, BatchSource* source) {
  ColumnBuilder out{DataType(TypeId::kLargeBinary)};
  RowEncoder encoder(rows.schema);
  while (true) {
    FLINT_ASSIGN_OR_RETURN(std::optional<OwnedArray> array, source->Next());
    if (!array.has_value()) break;
    FLINT_ASSIGN_OR_RETURN(BatchView batch, BatchView::Make(source->schema(), **array));
    std::vector<const ColumnView*> columns;
    for (const Field& field : rows.schema->columns().fields) {
      int k = batch.schema.IndexOf(field.name);
      if (k < 0) return Status::Invalid("column '" + field.name + "' is missing");
      columns.push_back(&batch.columns[static_cast<size_t>(k)]);
    }
    FLINT_RETURN_IF_ERROR(encoder.Encode(columns, 0, batch.num_rows));
    for (int64_t i = 0; i < encoder.num_rows(); ++i) out.AppendBytes(encoder.row(i));
  }
  ArrowArray array;
  out.Finish(&array);
  return OwnedArray(&array);
}

// Decodes a column of rows batch by batch.
class DecodedRows : public BatchSource {
 public:
  DecodedRows(std::shared_ptr<const RowSchema> schema, std::vector<int> columns,
              ImportedColumn rows)
      : decoder_(schema, std::move(columns)), rows_(std::move(rows)) {
    for (int k : decoder_.columns()) {
      Field field = schema->columns()[static_cast<size_t>(k)];
      field.nullable = true;  // a null row is null in every column
      schema_.fields.push_back(std::move(field));
    }
  }

  const Schema& schema() const override { return schema_; }

  Result<std::optional<OwnedArray>> Next() override {
    if (chunk_ == rows_.chunks.size()) return std::optional<OwnedArray>();
    const ArrowArray& chunk = *rows_.chunks[chunk_];
    FLINT_ASSIGN_OR_RETURN(ColumnView column, ColumnView::Make(rows_.field.type, chunk));
    std::vector<std::string_view> rows;
    for (size_t bytes = 0; at_ < column.size() && bytes < kBatchBytes; ++at_) {
      rows.push_back(column.IsNull(at_) ? std::string_view() : Present(column.Bytes(at_)));
      bytes += decoder_.BytesMax(rows.back());
    }
    if (at_ == column.size()) {
      ++chunk_;
      at_ = 0;
    }
    BatchBuilder batch(schema_);
    std::vector<ColumnBuilder*> out;
    for (size_t k = 0; k < batch.num_columns(); ++k) out.push_back(&batch.column(k));
    FLINT_RETURN_IF_ERROR(decoder_.Decode(rows, out));
    return std::optional<OwnedArray>(batch.Finish(static_cast<int64_t>(rows.size())));
  }

 private:
  static constexpr size_t kBatchBytes = 16u << 20;

  // Bytes that are there, if none of them: no null pointer, which means an absent row.
  static std::string_view Present(std::string_view row) {
    return row.data() != nullptr ? row : std::string_view("", 0);
  }

  RowDecoder decoder_;
  ImportedColumn rows_;
  Schema schema_;
  size_t chunk_ = 0;
  int64_t at_ = 0;
};

ExportedStream Decode(const Rows& rows, py::handle column,
                      const std::optional<std::vector<std::string>>& names) {
  ImportedColumn imported = ImportColumn(column, "rows");
  if (!imported.field.type.IsBytes()) {
    Check(Status::Invalid("rows: expected a binary column, got " + imported.field.type.ToString()));
  }
  std::vector<int> columns;
  const Schema& schema = rows.schema->columns();
  for (size_t k = 0; !names.has_value() && k < schema.size(); ++k) {
    columns.push_back(static_cast<int>(k));
  }
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    columns.push_back(schema.IndexOf(name));
    if (columns.back() < 0) Check(Status::Invalid("there is no column '" + name + "'"));
  }
  return {std::make_shared<DecodedRows>(rows.schema, std::move(columns), std::move(imported))};
}

py::object Unpack(const Rows& rows, const py::bytes& row) {
  std::string_view bytes(row);
  return py::reinterpret_steal<py::object>(Unwrap(rows.objects->Unpack(bytes)));
}

py::bytes Pack(const Rows& rows, py::handle value) {
  std::string packed;
  Check(rows.objects->Pack(value.ptr(), &packed));
  return py::bytes(packed);
}

// The value as it comes back, which shares nothing with what was given.
py::object Copy(const Rows& rows, py::handle value) {
  std::string packed;
  Check(rows.objects->Pack(value.ptr(), &packed));
  return py::reinterpret_steal<py::object>(Unwrap(rows.objects->Unpack(packed)));
}

}  // namespace

void BindRows(py::module_& m) {
  py::class_<Rows>(m, "Rows")
      // constructors
      .def(py::init([](py::handle schema, bool named_tuples, bool bare) {
             auto made = Unwrap(RowSchema::Make(ImportSchema(schema, "schema")));
             return Rows::Make(std::move(made), named_tuples, bare);
           }),
           py::arg("schema"), py::kw_only(), py::arg("named_tuples") = false,
           py::arg("bare") = false)
      .def_static(
          "from_history",
          [](const py::bytes& history, bool named_tuples, bool bare) {
            auto parsed = Unwrap(RowSchema::Parse(std::string_view(history)));
            return Rows::Make(std::move(parsed), named_tuples, bare);
          },
          py::arg("history"), py::kw_only(), py::arg("named_tuples") = false,
          py::arg("bare") = false)
      .def(
          "evolve",
          [](const Rows& self, py::handle wanted, const py::dict& defaults, bool named_tuples,
             bool bare) {
            Schema schema = ImportSchema(wanted, "schema");
            auto evolved = Unwrap(self.schema->Evolve(schema, DefaultsOf(schema, defaults)));
            return Rows::Make(std::move(evolved), named_tuples, bare);
          },
          py::arg("schema"), py::kw_only(), py::arg("defaults") = py::dict(),
          py::arg("named_tuples") = false, py::arg("bare") = false)
      // properties
      .def_property_readonly(
          "schema", [](const Rows& self) { return ToPyarrowSchema(self.schema->columns()); })
      .def_property_readonly("history",
                             [](const Rows& self) { return py::bytes(self.schema->Serialize()); })
      // operations
      .def("pack", &Pack, py::arg("value"))
      .def("unpack", &Unpack, py::arg("row"))
      .def("copy", &Copy, py::arg("value"))
      .def(
          "encode",
          [](const Rows& self, py::handle batches) {
            std::unique_ptr<BatchSource> source = ImportBatches(batches, "rows");
            auto rows = Unwrap(WithoutGil([&] { return EncodeAll(self, source.get()); }));
            return ExportedArray{{"row", DataType(TypeId::kLargeBinary), false}, std::move(rows)};
          },
          py::arg("batches"))
      .def("decode", &Decode, py::arg("rows"), py::arg("columns") = py::none());
}

}  // namespace flint
