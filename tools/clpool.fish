# SPDX-License-Identifier: MIT
# Completion of clpool's commands, options and values in fish, as a file of a directory in
# fish_complete_path. The program itself knows the answers.

function __clpool_complete
    set -l words (commandline -opc) (commandline -ct)
    for answer in ($words[1] --complete $words[2..] 2>/dev/null)
        if test $answer = :files
            set -l prefix (string match -r '^-[^=]*=' -- $words[-1])
            for path in (__fish_complete_path (string replace -r '^-[^=]*=' '' -- $words[-1]))
                echo "$prefix$path"
            end
        else
            echo $answer
        end
    end
end

complete -c clpool -f -a '(__clpool_complete)'
