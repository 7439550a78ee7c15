# SPDX-License-Identifier: MIT
# Reads names of C files, paths from the top of the tree, and checks what each includes. A file
# belongs to a layer, by its folder; each layer may include the layers listed here and no others.

BEGIN {
  may["api"] = "libc api"
  may["api-opencl"] = "libc api CL"
  may["api-cuda"] = "libc api api-cuda"
  rooms = split("base allocator streams store shard hooks pool", room, " ")
  for (i = 1; i <= rooms; i++) {
    core = core " core/" room[i]
    may["core/" room[i]] = "libc api" core
  }
  may["arena"] = "libc api arena" core
  may["hooks"] = "libc api hooks libdw" core
  may["trace"] = "libc api trace trace-stacks core/base zlib"
  may["trace-allocators"] = "libc api trace" core
  may["trace-stacks"] = "libc api trace trace-stacks hooks core/base"
  may["host"] = "libc api host" core
  may["opencl"] = "libc api opencl api-opencl CL" core
  may["cuda"] = "libc api cuda api-cuda" core
  may["layer"] = "libc api layer hooks opencl api-opencl CL" core
  may["tools"] = "libc api tools trace core/base api-opencl api-cuda CL"
  may["examples"] = "libc api examples api-opencl api-cuda CL CLBlast"
  may["python"] = "libc api python Python api-opencl api-cuda CL"
  may["bench"] = "libc api bench trace api-opencl api-cuda CL"
  libc = "assert ctype dirent dlfcn err errno execinfo fcntl float getopt glob " \
    "inttypes libgen limits link locale malloc math " \
    "poll pthread sched search semaphore setjmp signal spawn stdalign " \
    "stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn " \
    "string strings sys/auxv sys/file sys/ioctl sys/mman sys/param sys/resource sys/socket " \
    "sys/stat sys/syscall sys/sysinfo sys/time sys/types sys/uio sys/un " \
    "sys/utsname sys/wait termios threads time unistd unwind wchar"
  words = split(libc, word, " ")
  for (i = 1; i <= words; i++)
    is_libc[word[i] ".h"] = 1
}

{ files[++count] = $0; exists[$0] = 1 }

END {
  for (i = 1; i <= count; i++)
    check_file(files[i])
  if (includes == 0) {
    print "no include was found"
    exit 1
  }
  printf "%d includes of %d files, %d against the rules\n", includes, count, broken
  exit broken > 0
}

function check_file(file,   line, number, name, from, to) {
  from = layer_of(file)
  while ((getline line < file) > 0) {
    number++
    if (line !~ /^[ \t]*#[ \t]*include[ \t]*[<"]/)
      continue
    includes++
    name = line
    gsub(/^[^<"]*[<"]|[>"].*$/, "", name)
    to = target_layer(file, name, line ~ /"/)
    if (index(" " may[from] " ", " " to " ") == 0) {
      printf "%s:%d: %s must not include %s (%s)\n", file, number, from, name, to
      broken++
    }
  }
  close(file)
}

# What an include leads to: a layer of this tree, a library, or why it is neither.
function target_layer(file, name, quoted,   path) {
  if (name ~ /^clpool\//)
    return layer_of("include/" name)
  if (quoted) {
    path = normal(folder(file) name)
    if (path in exists)
      return layer_of(path)
    if (("lib/" name) in exists)
      return layer_of("lib/" name)
    if (("tools/" name) in exists)
      return layer_of("tools/" name)
    return "no such file"
  }
  if (name in is_libc)
    return "libc"
  if (name ~ /^CL\//)
    return "CL"
  if (name == "Python.h" || name == "structmember.h")
    return "Python"
  if (name == "zlib.h")
    return "zlib"
  if (name == "clblast_c.h")
    return "CLBlast"
  if (name ~ /^elfutils\// || name == "dwarf.h")
    return "libdw"
  return "a library that no layer uses"
}

function layer_of(path,   part) {
  if (path == "include/clpool/opencl.h")
    return "api-opencl"
  if (path ~ /^include\/clpool\/cuda(_mempool)?\.h$/)
    return "api-cuda"
  if (path ~ /^include\/clpool\//)
    return "api"
  if (path ~ /^tools\/trace\/metering_allocator\.c$/)
    return "trace-allocators"
  if (path ~ /^tools\/trace\/stacks\.[ch]$/)
    return "trace-stacks"
  if (path ~ /^tools\/trace\//)
    return "trace"
  split(path, part, "/")
  if (part[2] == "core")
    return "core/" part[3]
  return part[1] == "lib" ? part[2] : part[1]
}

function folder(path) {
  sub(/[^\/]*$/, "", path)
  return path
}

function normal(path) {
  while (sub(/[^\/]+\/\.\.\//, "", path))
    ;
  gsub(/(^|\/)\.\//, "/", path)
  return path
}
