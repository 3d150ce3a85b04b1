"""What this build of flintstate is made of."""

import flintstate

info = flintstate.build_info()
print(f"flintstate {info.version}, compiled by {info.compiler}")
for name, version in info.libraries.items():
    print(f"  {name} {version}")
