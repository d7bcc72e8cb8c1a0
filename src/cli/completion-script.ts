// Completion scripts for three shells, made from the table of commands. They run nothing: all words are in the script.
import type { CommandSpec, FlagSpec } from './command.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

export function renderCompletion(shell: Shell, commands: readonly CommandSpec[]): string {
  return { bash: renderBash, zsh: renderZsh, fish: renderFish }[shell](commands)
}

function flagWords(spec: CommandSpec): string[] {
  const words = Object.entries(spec.flags).flatMap(([name, flag]) => [
    `--${name}`,
    ...(flag.short ? [`-${flag.short}`] : []),
  ])
  return [...words, '--help']
}

/** The flags that take the next word. */
function valueFlags(spec: CommandSpec): string[] {
  return Object.entries(spec.flags).flatMap(([name, flag]) =>
    flag.type === 'boolean' ? [] : [`--${name}`, ...(flag.short ? [`-${flag.short}`] : [])],
  )
}

/** `--output|-o` and what may follow it. */
function valueCases(
  spec: CommandSpec,
  branch: (names: string, flag: FlagSpec) => string | undefined,
): string[] {
  return Object.entries(spec.flags).flatMap(([name, flag]) => {
    const names = flag.short ? `--${name}|-${flag.short}` : `--${name}`
    const line = flag.type === 'boolean' ? undefined : branch(names, flag)
    return line === undefined ? [] : [line]
  })
}

function renderBash(commands: readonly CommandSpec[]): string {
  const cases = commands.map((spec) => {
    const values = valueCases(spec, (names, flag) => {
      const words = flag.values
        ? `compgen -W '${flag.values.join(' ')}' -- "$current"`
        : flag.completes === 'folder'
          ? `compgen -d -- "$current"`
          : flag.completes === 'file'
            ? `compgen -f -- "$current"`
            : undefined
      return `        ${names}) ${words ? `COMPREPLY=($(${words})); ` : ''}return ;;`
    })
    const literals = spec.args.flatMap((arg, index) =>
      arg.values ? [`        ${index}) words='${arg.values.join(' ')}' ;;`] : [],
    )
    return [
      `    ${spec.name})`,
      '      case $previous in',
      ...values,
      '      esac',
      // Which argument is being written: what the flags before it took is none.
      `      _writ_position '${valueFlags(spec).join(' ')}'`,
      '      case $position in',
      ...literals,
      '      esac',
      `      words="$words ${flagWords(spec).join(' ')}" ;;`,
    ].join('\n')
  })
  return `# bash completion for writ. Load it with: source <(writ completion bash)
_writ_position() {
  local index word
  position=0
  for ((index = 2; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    case " $1 " in
      *" $word "*) index=$((index + 1)) ;;
      *) case $word in -?*) ;; *) position=$((position + 1)) ;; esac ;;
    esac
  done
}
_writ() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} words= position=0
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${commands.map(({ name }) => name).join(' ')} help --help --version' -- "$current"))
    return
  fi
  case \${COMP_WORDS[1]} in
${cases.join('\n')}
    help) words='${commands.map(({ name }) => name).join(' ')}' ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _writ writ
`
}

function renderZsh(commands: readonly CommandSpec[]): string {
  const cases = commands.map((spec) => {
    const flags = Object.entries(spec.flags).flatMap(([name, flag]) => {
      const text = zshText(flag.description)
      const value =
        flag.type === 'boolean'
          ? ''
          : `:${name}:${flag.values ? `(${flag.values.join(' ')})` : flag.completes === 'folder' ? '_files -/' : flag.completes === 'file' ? '_files' : ''}`
      const repeat = flag.multiple ? '*' : ''
      const long = `'${repeat}--${name}[${text}]${value}'`
      return flag.short ? [long, `'${repeat}-${flag.short}[${text}]${value}'`] : [long]
    })
    const args = spec.args.map(
      (arg, index) => `'${index + 1}:${arg.name}:${arg.values ? `(${arg.values.join(' ')})` : ''}'`,
    )
    return `      ${spec.name}) _arguments ${[...flags, "'--help[Show help.]'", ...args].join(' ')} ;;`
  })
  return `#compdef writ
# zsh completion for writ. Load it with: source <(writ completion zsh)
_writ() {
  local -a commands
  commands=(
${commands.map(({ name, summary }) => `    '${name}:${zshText(summary)}'`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
  else
    local name=$words[2]
    shift words
    (( CURRENT-- ))
    case $name in
${cases.join('\n')}
      help) _describe 'command' commands ;;
    esac
  fi
}
compdef _writ writ
`
}

/** Inside single quotes, brackets and colons mean something to _arguments. */
function zshText(text: string): string {
  return text.replaceAll("'", "'\\''").replaceAll(/[[\]:]/g, '\\$&')
}

function renderFish(commands: readonly CommandSpec[]): string {
  const lines = commands.flatMap((spec) => {
    const when = `-n '__fish_seen_subcommand_from ${spec.name}'`
    const flags = Object.entries(spec.flags).map(([name, flag]) => {
      const value =
        flag.type === 'boolean'
          ? ''
          : flag.values
            ? ` -x -a '${flag.values.join(' ')}'`
            : flag.completes === undefined
              ? ' -x'
              : ' -r -F'
      const short = flag.short ? ` -s ${flag.short}` : ''
      return `complete -c writ ${when} -l ${name}${short}${value} -d ${fishText(flag.description)}`
    })
    const literals = spec.args.flatMap((arg) => arg.values ?? [])
    return [
      `complete -c writ -n __fish_use_subcommand -a ${spec.name} -d ${fishText(spec.summary)}`,
      // Said once, a literal is not offered again.
      ...(literals.length > 0
        ? [
            `complete -c writ -n '__fish_seen_subcommand_from ${spec.name}; and not __fish_seen_subcommand_from ${literals.join(' ')}' -a '${literals.join(' ')}'`,
          ]
        : []),
      ...flags,
    ]
  })
  return `# fish completion for writ. Load it with: writ completion fish | source
complete -c writ -f
complete -c writ -l help -s h -d 'Show help.'
${lines.join('\n')}
`
}

function fishText(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
