#!/bin/sh
#
# bundle.sh LD OBJCOPY AR OBJECTS.a OUT.a - makes of many objects an archive of
# one, in which only what begins with weir_ is global: the names that we have
# among ourselves are not for those who link the library.
set -eu
bundle=$5.d/weir.o
mkdir -p "$5.d"
"$1" -r -o "$bundle" --whole-archive "$4"
"$2" --wildcard --keep-global-symbol='weir_*' "$bundle"
rm -f "$5"
"$3" rcsD "$5" "$bundle"
rm -r "$5.d"
