#include "base/arrow_type.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/schema_bytes.h"

namespace flint {
namespace {

Result<DataType> Parsed(const char* format, std::vector<Field> children = {}) {
  std::vector<OwnedSchema> owned(children.size());
  std::vector<ArrowSchema*> pointers;
  for (size_t k = 0; k < children.size(); ++k) {
    ExportField(children[k], owned[k].get());
    pointers.push_back(owned[k].get());
  }
  ArrowSchema schema{};
  schema.format = format;
  schema.name = "";
  schema.n_children = static_cast<int64_t>(pointers.size());
  schema.children = pointers.data();
  return DataType::FromArrow(schema);
}

Field Of(std::string name, TypeId id, bool nullable = true) {
  return {std::move(name), DataType(id), nullable};
}

// A list of lists of ... of int64, `depth` levels.
DataType Deep(int depth) {
  DataType type(TypeId::kInt64);
  for (; depth > 1; --depth) {
    DataType list(TypeId::kList);
    list.children.push_back({"item", std::move(type), true});
    type = std::move(list);
  }
  return type;
}

TEST(ADataType, NestsAsDeepAsItMayAndNoDeeper) {
  for (int depth : {1, kTypeDepthMax, kTypeDepthMax + 1, 1000}) {
    OwnedSchema schema;
    ExportField({"deep", Deep(depth), true}, schema.get());
    Result<Field> field = Field::FromArrow(*schema);
    EXPECT_EQ(field.ok(), depth <= kTypeDepthMax);
    if (field.ok()) {
      EXPECT_EQ(field->type, Deep(depth));
    }
    std::string bytes;
    AppendField({"deep", Deep(depth), true}, &bytes);
    Result<Field> stored = ByteReader(bytes).TakeField();
    EXPECT_EQ(stored.ok(), depth <= kTypeDepthMax);
    if (!stored.ok()) {
      EXPECT_EQ(stored.status().kind(), ErrorKind::kCorruption);
    }
  }
}

TEST(ADataType, IsReadFromArrowsFormatAndPrintedAsPyarrowDoes) {
  const std::pair<const char*, const char*> kTypes[] = {
      {"n", "null"},
      {"b", "bool"},
      {"C", "uint8"},
      {"l", "int64"},
      {"e", "halffloat"},
      {"g", "double"},
      {"d:9,2", "decimal128(9, 2)"},
      {"d:40,-3,256", "decimal256(40, -3)"},
      {"vu", "string_view"},
      {"Z", "large_binary"},
      {"w:16", "fixed_size_binary[16]"},
      {"tdD", "date32[day]"},
      {"ttm", "time32[ms]"},
      {"ttn", "time64[ns]"},
      {"tsu:", "timestamp[us]"},
      {"tsn:Europe/Paris", "timestamp[ns, tz=Europe/Paris]"},
      {"tDs", "duration[s]"},
  };
  for (auto [format, printed] : kTypes) {
    Result<DataType> type = Parsed(format);
    ASSERT_TRUE(type.ok()) << format;
    EXPECT_EQ(type->ToString(), printed);
  }
  EXPECT_EQ(Parsed("+w:3", {Of("item", TypeId::kInt8)})->ToString(),
            "fixed_size_list<item: int8>[3]");
}

TEST(ADataType, ThatIsUnknownIsRefusedByItsFormat) {
  for (const char* format :
       {"+ud:0,1", "tiM", "+r", "+vl", "d:9", "tdX", "ts", "d:9,2,64", "", "?"}) {
    Result<DataType> type = Parsed(format);
    ASSERT_FALSE(type.ok()) << format;
    EXPECT_NE(type.status().message().find(std::string("'") + format + "'"), std::string::npos);
  }
}

TEST(ADataType, OfTheWrongShapeIsRefused) {
  Field entries{"entries", DataType(TypeId::kStruct), false};
  EXPECT_FALSE(Parsed("+l").ok());
  EXPECT_FALSE(Parsed("+l", {Of("a", TypeId::kInt8), Of("b", TypeId::kInt8)}).ok());
  EXPECT_FALSE(Parsed("+m", {Of("entries", TypeId::kInt8)}).ok());
  EXPECT_FALSE(Parsed("+m", {entries}).ok());
  EXPECT_FALSE(Parsed("l", {Of("a", TypeId::kInt8)}).ok());
  EXPECT_FALSE(Parsed("w:-1").ok());
  EXPECT_TRUE(Parsed("+s").ok());
}

TEST(ADataType, EqualsAnotherWhateverTheNamesOfElements) {
  EXPECT_EQ(*Parsed("+l", {Of("item", TypeId::kInt8)}), *Parsed("+l", {Of("e", TypeId::kInt8)}));
  EXPECT_NE(*Parsed("+l", {Of("item", TypeId::kInt8)}),
            *Parsed("+l", {Of("item", TypeId::kInt8, false)}));
  EXPECT_NE(*Parsed("+s", {Of("a", TypeId::kInt8)}), *Parsed("+s", {Of("b", TypeId::kInt8)}));
  EXPECT_NE(*Parsed("tsu:"), *Parsed("tsu:UTC"));
  EXPECT_NE(*Parsed("d:9,2"), *Parsed("d:9,3"));
}

TEST(ADataType, HoldsTheSameValuesInAnyLayout) {
  DataType dictionary(TypeId::kDictionary);
  dictionary.children = {Of("index", TypeId::kInt8), Of("value", TypeId::kStringView)};
  DataType text(TypeId::kString);
  EXPECT_TRUE(text.SameValues(dictionary));
  EXPECT_TRUE(dictionary.SameValues(DataType(TypeId::kLargeString)));
  EXPECT_FALSE(text.SameValues(DataType(TypeId::kBinary)));
  EXPECT_TRUE(Parsed("+l", {Of("a", TypeId::kString)})
                  ->SameValues(*Parsed("+L", {Of("b", TypeId::kLargeString, false)})));
  EXPECT_FALSE(Parsed("+s", {Of("a", TypeId::kString)})
                   ->SameValues(*Parsed("+s", {Of("b", TypeId::kString)})));
  EXPECT_FALSE(DataType(TypeId::kInt32).SameValues(DataType(TypeId::kInt64)));
}

TEST(ADataType, IsPlainWithoutViewsAndDictionariesAtAnyDepth) {
  DataType dictionary(TypeId::kDictionary);
  dictionary.children = {Of("index", TypeId::kInt8), Of("value", TypeId::kBinaryView)};
  DataType list = *Parsed("+l", {{"item", dictionary, true}});
  list.children[0].type = dictionary;
  EXPECT_EQ(list.Plain().ToString(), "list<item: binary>");
}

TEST(ASchema, ComesBackFromItsBytesAndFromArrow) {
  Field point{"p", *Parsed("+s", {Of("x", TypeId::kFloat64, false), Of("y", TypeId::kNull)}), true};
  Field list{"l", *Parsed("+w:2", {point}), false};
  Schema schema{{Of("a", TypeId::kInt64, false), point, list, {"z", *Parsed("tsm:UTC"), true}}};
  std::string bytes;
  for (const Field& field : schema.fields) AppendField(field, &bytes);
  ByteReader reader(bytes);
  for (const Field& field : schema.fields) EXPECT_EQ(*reader.TakeField(), field);
  EXPECT_TRUE(reader.empty());

  OwnedSchema exported;
  ExportSchema(schema, exported.get());
  EXPECT_EQ(*Schema::FromArrow(*exported), schema);
  EXPECT_EQ(schema.IndexOf("l"), 2);
  EXPECT_EQ(schema.IndexOf("q"), -1);
}

TEST(SchemaBytes, ThatEndTooSoonAreCorruption) {
  std::string bytes;
  AppendField({"p", *Parsed("+s", {Of("x", TypeId::kFloat64), Of("y", TypeId::kString)}), true},
              &bytes);
  for (size_t size = 0; size < bytes.size(); ++size) {
    ByteReader reader(std::string_view(bytes).substr(0, size));
    Result<Field> field = reader.TakeField();
    ASSERT_FALSE(field.ok());
    EXPECT_EQ(field.status().kind(), ErrorKind::kCorruption);
  }
}

}  // namespace
}  // namespace flint
