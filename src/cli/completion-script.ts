// Completion scripts for three shells, made from the table of commands. They run nothing: all words are in the script.
import type { CommandSpec, FlagSpec } from './command.ts'
import { subcommandsOf } from './find-command.ts'

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

/** The first words of all commands, each once. */
function firstWords(commands: readonly CommandSpec[]): string[] {
  return [...new Set(commands.map(({ name }) => name.split(' ', 1)[0] ?? name))]
}

/** The first words that a second one may follow, with those. */
function groups(commands: readonly CommandSpec[]): readonly (readonly [string, readonly string[]])[] {
  const names = commands.map(({ name }) => name)
  return firstWords(commands).flatMap((first) => {
    const subs = subcommandsOf(names, first)
    return subs.length === 0 ? [] : [[first, subs] as const]
  })
}

/** What is said of a first word that is no command of its own. */
function summaryOf(commands: readonly CommandSpec[], first: string): string {
  const alone = commands.find(({ name }) => name === first)
  return (
    alone?.summary ??
    `${subcommandsOf(
      commands.map(({ name }) => name),
      first,
    ).join(', ')}`
  )
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
    const literals = spec.args.flatMap((arg, index) => {
      const at = arg.repeats === true ? '*' : index
      if (arg.values) return [`        ${at}) words='${arg.values.join(' ')}' ;;`]
      return arg.completes === 'file' ? [`        ${at}) words=$(compgen -f -- "$current") ;;`] : []
    })
    return [
      `    '${spec.name}')`,
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
  const twoWords = commands.flatMap(({ name }) => (name.includes(' ') ? [`'${name}'`] : []))
  const subs = groups(commands).map(([first, list]) => `      ${first}) more='${list.join(' ')}' ;;`)
  return `# bash completion for writ. Load it with: source <(writ completion bash)
_writ_position() {
  local index word
  position=0
  for ((index = first; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    case " $1 " in
      *" $word "*) index=$((index + 1)) ;;
      *) case $word in -?*) ;; *) position=$((position + 1)) ;; esac ;;
    esac
  done
}
_writ() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} words= position=0
  local name=\${COMP_WORDS[1]} first=2 more=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${firstWords(commands).join(' ')} help --help --version' -- "$current"))
    return
  fi
  if [ "$COMP_CWORD" -gt 2 ]; then
    case "$name \${COMP_WORDS[2]}" in
      ${twoWords.join('|')}) name="$name \${COMP_WORDS[2]}" first=3 ;;
    esac
  else
    case $name in
${subs.join('\n')}
    esac
  fi
  case $name in
${cases.join('\n')}
    help) words='${firstWords(commands).join(' ')}' ;;
  esac
  words="$words $more"
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
    const args = spec.args.map((arg, index) => {
      const at = arg.repeats === true ? '*' : index + 1
      const words = arg.values ? `(${arg.values.join(' ')})` : arg.completes === 'file' ? '_files' : ''
      return `'${at}:${arg.name}:${words}'`
    })
    return `      '${spec.name}') _arguments ${[...flags, "'--help[Show help.]'", ...args].join(' ')} ;;`
  })
  const twoWords = commands.flatMap(({ name }) => (name.includes(' ') ? [`'${name}'`] : []))
  const subs = groups(commands).map(([first, list]) => `      ${first}) compadd ${list.join(' ')} ;;`)
  return `#compdef writ
# zsh completion for writ. Load it with: source <(writ completion zsh)
_writ() {
  local -a commands
  commands=(
${firstWords(commands)
  .map((name) => `    '${name}:${zshText(summaryOf(commands, name))}'`)
  .join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
  else
    local name=$words[2]
    (( CURRENT == 3 )) && case $name in
${subs.join('\n')}
    esac
    case "$name $words[3]" in
      ${twoWords.join('|')})
        if (( CURRENT > 3 )); then
          name="$name $words[3]"
          shift words
          (( CURRENT-- ))
        fi ;;
    esac
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
  const names = commands.map(({ name }) => name)
  const heads = firstWords(commands).flatMap((first) => {
    const subs = subcommandsOf(names, first)
    const head = `complete -c writ -n __fish_use_subcommand -a ${first} -d ${fishText(summaryOf(commands, first))}`
    if (subs.length === 0) return [head]
    const seen = `__fish_seen_subcommand_from ${first}; and not __fish_seen_subcommand_from ${subs.join(' ')}`
    return [head, `complete -c writ -n '${seen}' -a '${subs.join(' ')}'`]
  })
  const lines = commands.flatMap((spec) => {
    const when = `-n '${fishSeen(spec.name, subcommandsOf(names, spec.name))}'`
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
    const files = spec.args.some(({ completes }) => completes === 'file')
    return [
      ...(files ? [`complete -c writ ${when} -F`] : []),
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
${[...heads, ...lines].join('\n')}
`
}

/** Both words of a name are there; of a single one, none that would make it another command. */
function fishSeen(name: string, subs: readonly string[]): string {
  const seen = name.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`)
  const others = subs.length === 0 ? [] : [`not __fish_seen_subcommand_from ${subs.join(' ')}`]
  return [...seen, ...others].join('; and ')
}

function fishText(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
