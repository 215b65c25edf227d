/** A line of the hidden command's answer that is no word: the shell may offer its files. */
export const filesMark = ':files';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/**
 * What each shell runs for a word to complete. All of them ask the program itself, by its hidden command, so what is
 * offered is what the parser knows. Each line of the answer is `word<TAB>meaning`.
 */
export const scripts: Readonly<Record<Shell, string>> = {
  // Bash cuts words at = : and @ as well, and replaces only what follows the last of them. Works from bash 3.2 on.
  bash: `# tenure: completion for bash. Load it with: eval "$(tenure completion bash)"
_tenure() {
  local line=\${COMP_LINE:0:COMP_POINT} breaks= head= char reply
  local -a words
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  local current=\${words[\${#words[@]}-1]}
  for char in '=' ':' '@'; do
    [[ $COMP_WORDBREAKS == *"$char"* ]] && breaks+=$char
  done
  [[ -n $breaks ]] && head=\${current%"\${current##*[$breaks]}"}
  COMPREPLY=()
  while IFS= read -r reply; do
    reply=\${reply%%$'\\t'*}
    if [[ $reply == ${filesMark} ]]; then
      compopt -o default 2>/dev/null
    elif [[ -n $reply ]]; then
      COMPREPLY+=("\${reply#"$head"}")
    fi
  done < <("$1" complete -- "\${words[@]:1}" 2>/dev/null </dev/null)
}
complete -F _tenure tenure
`,
  zsh: `#compdef tenure
# tenure: completion for zsh. Load it with: source <(tenure completion zsh)
_tenure() {
  local reply
  local -a values shown
  local files=
  while IFS= read -r reply; do
    if [[ $reply == ${filesMark} ]]; then
      files=1
    elif [[ -n $reply ]]; then
      values+=("\${reply%%$'\\t'*}")
      shown+=("\${reply/$'\\t'/  -- }")
    fi
  done < <("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)
  (( \${#values} )) && compadd -l -d shown -a values
  [[ -n $files ]] && _files
}
if [[ \${funcstack[1]} == _tenure ]]; then _tenure "$@"; else compdef _tenure tenure; fi
`,
  fish: `# tenure: completion for fish. Load it with: tenure completion fish | source
function __tenure_complete
    set -l words (commandline -opc)
    for reply in (command $words[1] complete -- $words[2..-1] (commandline -ct) 2>/dev/null </dev/null)
        if test "$reply" = '${filesMark}'
            __fish_complete_path (commandline -ct)
        else
            printf '%s\\n' $reply
        end
    end
end
complete -c tenure -e
complete -c tenure -f -a '(__tenure_complete)'
`,
};
