// The cli block of a tool: what is wrong with it, and what it comes to.
import { parseTemplate } from '../util/go-template/go-template.ts'
import type { Path } from './problem.ts'
import { checkSecretRef } from './resolve-access.ts'
import type { ResolveContext } from './resolve-context.ts'
import type { DeclaredExit, ResolvedCli } from './resolved-cli.ts'
import type { IsolationMode } from './resolved-tool.ts'
import type { ToolSpec } from './tool.ts'

type DeclaredCli = NonNullable<ToolSpec['cli']>

const at = (...rest: Path): Path => ['spec', 'cli', ...rest]

/** No program takes more by hand, and each is looked at for every call. */
const MAX_ARGS = 1_024
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/
/** What the loader of programs obeys: other code would run under the name of an allowed command. */
const LOADER = /^(?:LD_|DYLD_)|^(?:GCONV_PATH|NODE_OPTIONS|BASH_ENV)$/
/** An image alone is no way to run here: containers are not built. */
const IMAGE_FIX = 'add cli.image, or declare runtime.isolation_mode: none to run it on the host'
const NUL = '\0'

export function resolveCli(context: ResolveContext, isolation: IsolationMode): ResolvedCli | undefined {
  const { spec, type } = context
  if (type !== 'cli') return undefined
  const { cli } = spec
  if (cli === undefined) {
    context.findings.error(
      ['spec', 'cli'],
      'is missing: type cli needs a command',
      'add cli: {command: NAME}',
    )
    return undefined
  }
  checkPlace(context, cli, isolation)
  checkCommand(context, cli)
  checkArgs(context, cli.args ?? [])
  checkEnv(context, cli)
  return {
    command: cli.command,
    args: cli.args ?? [],
    allowDash: cli.allow_dash ?? false,
    stdinFromInput: cli.stdin_from_input ?? false,
    output: cli.output ?? 'stdout',
    workingDir: cli.working_dir ?? '/',
    env: cli.env ?? {},
    envCall: cli.env_call ?? {},
    envFrom: cli.env_from ?? [],
    exitCodes: resolveExits(context, cli.exit_codes ?? {}),
  }
}

/** Where it runs, and what of its declaration cannot be held there. */
function checkPlace(context: ResolveContext, cli: DeclaredCli, isolation: IsolationMode): void {
  const { spec, findings, options } = context
  if (spec.auth !== undefined) {
    findings.error(['spec', 'auth'], 'is not for type cli', 'give credentials as environment: cli.env_from')
  }
  if (cli.image_pull_secret !== undefined && cli.image === undefined) {
    findings.error(at('image_pull_secret'), 'has no image to pull', 'add cli.image, or remove it')
  }
  if (isolation !== 'none') {
    if (cli.image === undefined)
      findings.error(at('image'), `is missing: isolation_mode ${isolation} needs one`, IMAGE_FIX)
    return
  }
  if (options.profile === 'production') {
    const why = 'none would run the program on the host'
    findings.error(['spec', 'runtime', 'isolation_mode'], why, 'use container')
  }
  warnOfUnlisted(context, cli.command)
  if (cli.image !== undefined)
    findings.warn(at('image'), 'is not used: isolation_mode none runs the program on the host', 'remove it')
  for (const name of ['network', 'resources'] as const) {
    if (cli[name] === undefined) continue
    const why = `isolation_mode none cannot hold a program to cli.${name}`
    context.refuseCalls(at(name), why, 'remove it, or use container')
  }
  for (const name of ['fs', 'env'] as const) {
    if ((spec.grants?.[name]?.length ?? 0) === 0) continue
    const why = `isolation_mode none cannot hold a program to grants.${name}`
    context.refuseCalls(['spec', 'grants', name], why, 'remove it')
  }
}

/** S33. Only where it is certain: which file a name stands for is seen when it is started. */
function warnOfUnlisted({ findings, options }: ResolveContext, command: string): void {
  const last = (path: string) => path.slice(path.lastIndexOf('/') + 1)
  if (options.hostCommands?.some((entry) => last(entry) === last(command)) !== false) return
  const why = `'${command}' is not on the list of commands that this server runs; calls are refused`
  findings.warn(at('command'), why, `the operator adds ${command} to cli_allow`)
}

function checkCommand({ findings }: ResolveContext, { command, working_dir: folder }: DeclaredCli): void {
  if (command.includes(NUL)) findings.error(at('command'), 'holds a NUL', 'remove it')
  else if (!command.startsWith('/') && command.includes('/')) {
    const fix = 'write the whole path from /, or a name alone'
    findings.error(at('command'), `'${command}' is a path that begins nowhere`, fix)
  } else if (/\s/.test(command.trim()) || command.trim() !== command) {
    const why = 'has white space in it; there is no shell that would split it'
    findings.warn(at('command'), why, 'put each argument into cli.args')
  }
  if (folder !== undefined && (!folder.startsWith('/') || folder.includes(NUL)))
    findings.error(at('working_dir'), `'${folder}' is no path from /`, 'write the whole path')
}

function checkArgs({ findings }: ResolveContext, args: readonly string[]): void {
  if (args.length > MAX_ARGS)
    findings.error(at('args'), `has ${args.length} entries`, `give at most ${MAX_ARGS}`)
  for (const [index, text] of args.entries()) {
    const path = at('args', index)
    if (text.includes(NUL)) findings.error(path, 'holds a NUL, which no argument can carry', 'remove it')
    if (!text.includes('{{')) continue
    const parsed = parseTemplate(text)
    if (parsed.ok) continue
    const where = text.includes('\n')
      ? `line ${parsed.line}, column ${parsed.column}`
      : `column ${parsed.column}`
    const [what = '', fix = 'correct it there'] = parsed.message.split('. Fix: ')
    findings.error(path, `is no template: ${where}: ${what}`, fix)
  }
}

function checkEnv(context: ResolveContext, cli: DeclaredCli): void {
  const { findings } = context
  const seen = new Map<string, string>()
  const check = (name: string, path: Path, block: string) => {
    if (!VARIABLE.test(name)) {
      const fix = 'use letters, digits and _, not beginning with a digit'
      findings.error(path, `'${name}' is no name of a variable`, fix)
    } else if (LOADER.test(name)) {
      const why = `'${name}' would load other code into the program`
      findings.error(path, why, 'remove it; install what the program needs')
    }
    const before = seen.get(name)
    if (before !== undefined) findings.error(path, `'${name}' is in ${before} already`, 'keep one of the two')
    seen.set(name, block)
  }
  for (const [name, value] of Object.entries(cli.env ?? {})) {
    check(name, at('env', name), 'cli.env')
    if (value.includes(NUL)) findings.error(at('env', name), 'holds a NUL', 'remove it')
  }
  for (const name of Object.keys(cli.env_call ?? {})) check(name, at('env_call', name), 'cli.env_call')
  for (const [index, { name, secretRef, key }] of (cli.env_from ?? []).entries()) {
    check(name, at('env_from', index, 'name'), 'cli.env_from')
    const path = at('env_from', index, 'secretRef')
    checkSecretRef(context, secretRef, path)
    if (key !== undefined && secretRef.includes(':'))
      findings.error(at('env_from', index, 'key'), 'is named in secretRef already', 'keep one of the two')
  }
}

function resolveExits(
  { findings }: ResolveContext,
  declared: NonNullable<DeclaredCli['exit_codes']>,
): Record<string, DeclaredExit> {
  const exits: Record<string, DeclaredExit> = {}
  for (const [text, { effect = 'unknown', retryable = false, code = 'execution_failed' }] of Object.entries(
    declared,
  )) {
    if (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= 255) exits[text] = { effect, retryable, code }
    else findings.error(at('exit_codes', text), 'is no exit code of a failure', 'use 1 to 255')
  }
  return exits
}
