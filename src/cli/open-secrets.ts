// Where a server that is about to start has its master key, and the secrets of its tools, from.
import { realpathSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import type { Config } from '../config/config-schema.ts'
import type { ProviderSettings } from '../credential/create-secret-providers.ts'
import type { MasterKeyChoice } from '../credential/master-key-source.ts'
import { readProviderSettings } from '../credential/provider-schema.ts'
import { formatProblem } from '../resource/problem.ts'
import { CliError, EXIT } from './cli-error.ts'
import type { DataFolder } from './data-folder.ts'
import { readLocalFile } from './read-file.ts'
import type { Terminal } from './terminal.ts'

export interface OpenSecrets {
  readonly masterKey?: MasterKeyChoice
  readonly secretProviders?: readonly ProviderSettings[]
}

const MAX_BYTES = 1024 * 1024

/** Every mistake is named before the server starts. */
export function openSecrets(terminal: Terminal, config: Config, folder: DataFolder): OpenSecrets {
  const masterKey = masterKeyOf(terminal, config, folder)
  const secretProviders = providersOf(terminal, config)
  return {
    ...(masterKey === undefined ? {} : { masterKey }),
    ...(secretProviders === undefined ? {} : { secretProviders }),
  }
}

function masterKeyOf(
  { cwd }: Terminal,
  { master_key: where, store, profile }: Config,
  folder: DataFolder,
): MasterKeyChoice | undefined {
  if (where === undefined) {
    // What is sealed in memory ends with the server, and so may its key.
    if (store === 'memory') return undefined
    if (profile === 'local') return { file: folder.masterKey, make: true }
    return undefined
  }
  if (!where.startsWith('file:')) return where
  const file = resolve(cwd, where.slice('file:'.length))
  if (profile === 'production' && isInside(file, folder.path)) {
    throw new CliError(`profile production takes no master key from the data folder, ${file}`, {
      exit: EXIT.startFailed,
      fix: 'keep it where a copy of the data folder does not hold it, and name that place with --master-key',
    })
  }
  return { file }
}

/** By where the file really is, so that no link leads there. */
function isInside(file: string, folder: string): boolean {
  return [file, real(file)].some((path) => {
    const way = relative(real(folder), path)
    return way !== '' && !way.startsWith('..') && resolve(way) !== way
  })
}

function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return dirname(path) === path ? path : join(real(dirname(path)), basename(path))
  }
}

function providersOf(
  { cwd, err }: Terminal,
  { secret_providers: file, profile }: Config,
): readonly ProviderSettings[] | undefined {
  if (file === undefined) return undefined
  const { settings, problems } = readProviderSettings(readLocalFile(cwd, file, MAX_BYTES), file, { profile })
  const [first, ...rest] = problems.filter(({ severity }) => severity === 'error').map(formatProblem)
  if (first !== undefined) throw new CliError(first, { exit: EXIT.startFailed, lines: rest })
  for (const warning of problems) err(`writ: ${formatProblem(warning)}\n`)
  return settings.map((one) => atHome(one, dirname(resolve(cwd, file))))
}

/** Paths in the file are relative to it. */
function atHome(one: ProviderSettings, home: string): ProviderSettings {
  const at = (path: string | undefined) => (path === undefined ? undefined : resolve(home, path))
  const moved: Record<string, unknown> = { ...one }
  for (const name of ['folder', 'kubeconfig', 'token_file', 'ca_file'])
    if (typeof moved[name] === 'string') moved[name] = at(moved[name])
  if (one.type === 'vault' && one.approle?.secret_id_file !== undefined)
    moved.approle = { ...one.approle, secret_id_file: at(one.approle.secret_id_file) }
  return moved as unknown as ProviderSettings
}
