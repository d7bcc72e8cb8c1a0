// From flags, environment and defaults to one frozen configuration, or everything that is wrong with it.
import { BlockList, isIP } from 'node:net'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { didYouMean } from '../util/did-you-mean.ts'
import {
  type Config,
  ConfigSchema,
  flagOf,
  SETTING_NAMES,
  type Setting,
  type SettingName,
  settingOf,
  variableOf,
} from './config-schema.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface ConfigSources {
  /** As written on the command line; absent where no flag was given. */
  readonly flags: Readonly<Partial<Record<SettingName, string | number | boolean>>>
  readonly env: Environment
}

export interface ConfigProblem {
  /** The flag or variable to change. */
  readonly source: string
  readonly message: string
  readonly fix: string
}

export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] }

/** Variables that the commands which call a server read; the server has no use for them. */
export const CLIENT_VARIABLES = {
  WRIT_URL: 'Address of the server to use.',
  WRIT_TOKEN: 'Bearer token to send to it. Read from the environment only, so that no process list shows it.',
} as const

/** Flags win over the environment, the environment over defaults. */
export function resolveConfig(sources: ConfigSources): ConfigResult {
  const problems: ConfigProblem[] = unknownVariables(sources.env)
  // Not the validator of typebox: that is three hundred modules more to load in every start, and this one is there anyway.
  const ajv = new Ajv2020({ strict: false, validateSchema: false, meta: false, code: { optimize: false } })
  const values: Record<string, unknown> = {}
  const sourceOf = new Map<string, string>()
  for (const name of SETTING_NAMES) {
    const setting = settingOf(name)
    const flag = sources.flags[name]
    // An empty variable is how a shell or a unit file unsets one; a secret that did not resolve looks the same.
    const variable = sources.env[variableOf(name)] || undefined
    if (setting.secret && flag === undefined && sources.env[variableOf(name)] === '') {
      problems.push(emptySecret(variableOf(name)))
      continue
    }
    const source = flag === undefined ? variableOf(name) : `--${flagOf(name)}`
    sourceOf.set(name, source)
    const raw = flag ?? variable
    if (raw === undefined) {
      if (setting.default !== undefined) values[name] = setting.default
      continue
    }
    const value = readValue(setting, raw)
    if (value === undefined || !ajv.validate(ConfigSchema.properties[name], value)) {
      problems.push(badValue(setting, source, raw))
    } else values[name] = value
  }
  if (problems.length > 0) return { ok: false, problems }
  const config: unknown = Object.freeze(values)
  if (!ajv.validate<Config>(ConfigSchema, config)) throw new Error(`a default is wrong: ${ajv.errorsText()}`)
  const refused = refusals(config, (name) => sourceOf.get(name) ?? variableOf(name))
  return refused.length > 0 ? { ok: false, problems: refused } : { ok: true, config }
}

/** Things that are allowed and that the operator should know. */
export function configWarnings(config: Config): readonly string[] {
  if (config.profile === 'local' && !isLoopback(config.host) && !config.behind_proxy) {
    return [
      `${config.host} can be reached from other machines, and the admin token travels there without TLS`,
    ]
  }
  return []
}

export function isLoopback(host: string): boolean {
  const family = isIP(host)
  if (family === 0) return host.toLowerCase() === 'localhost'
  const loopback = new BlockList()
  loopback.addSubnet('127.0.0.0', 8)
  loopback.addAddress('::1', 'ipv6')
  return loopback.check(host, family === 6 ? 'ipv6' : 'ipv4')
}

function readValue(setting: Setting, raw: string | number | boolean): unknown {
  if (typeof raw !== 'string') return raw
  if (setting.kind === 'integer') return /^-?\d{1,15}$/.test(raw) ? Number(raw) : undefined
  if (setting.kind === 'boolean') {
    return raw === 'true' || raw === '1' ? true : raw === 'false' || raw === '0' ? false : undefined
  }
  return raw
}

function badValue(setting: Setting, source: string, raw: string | number | boolean): ConfigProblem {
  if (setting.name === 'store') {
    return {
      source,
      message: `${source} is no store`,
      fix: 'give sqlite, memory, or postgres://USER:PASSWORD@HOST:PORT/DATABASE',
    }
  }
  if (setting.secret) {
    return {
      source,
      message: `${source} is not a usable token`,
      fix: `use at least 32 printable characters without spaces, such as from 'openssl rand -base64 32'`,
    }
  }
  // Kubernetes puts variables like this into every pod beside a Service called writ.
  if (setting.name === 'port' && typeof raw === 'string' && raw.startsWith('tcp://')) {
    return {
      source,
      message: `${source} is '${raw}', which Kubernetes sets for a Service called writ`,
      fix: `set enableServiceLinks: false on the pod, or give --port`,
    }
  }
  const { minimum, maximum } = setting
  const wanted = setting.values
    ? `one of ${setting.values.join(', ')}`
    : setting.kind === 'integer'
      ? `a whole number from ${minimum} to ${maximum}`
      : setting.kind === 'boolean'
        ? 'true or false'
        : 'some text'
  const close = setting.values ? didYouMean(String(raw), setting.values) : undefined
  return {
    source,
    message: `${source} is '${raw}', but must be ${wanted}`,
    fix: close ? `did you mean '${close}'?` : `give ${wanted}`,
  }
}

/** The default in its place could be a ledger of its own beside the shared one: whoever set it meant something else. */
function emptySecret(source: string): ConfigProblem {
  return {
    source,
    message: `${source} is set and empty, as when a secret could not be read`,
    fix: `give it its value, or unset it (unset ${source}) to use the default`,
  }
}

/** A misspelt variable would leave its setting at the default without a word: WRIT_PROFLE=production must not start `local`. */
function unknownVariables(env: Environment): ConfigProblem[] {
  const known: readonly string[] = [...SETTING_NAMES.map(variableOf), ...Object.keys(CLIENT_VARIABLES)]
  return Object.keys(env).flatMap((variable) => {
    if (!variable.startsWith('WRIT_') || known.includes(variable)) return []
    // These are secrets of tools, whose names are anybody's.
    if (variable.startsWith('WRIT_SECRET_')) return []
    const close = didYouMean(
      variable.slice('WRIT_'.length),
      known.map((name) => name.slice('WRIT_'.length)),
    )
    if (close === undefined) return []
    return [
      {
        source: variable,
        message: `${variable} is not a setting`,
        fix: `did you mean WRIT_${close}? Else unset it`,
      },
    ]
  })
}

/** S51, as far as the parts exist: what `production` does not do. */
function refusals(config: Config, sourceOf: (name: SettingName) => string): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  if (config.profile !== 'production') return problems
  if (!isLoopback(config.host) && !config.behind_proxy) {
    problems.push({
      source: sourceOf('host'),
      message: `profile production does not listen on ${config.host} without TLS, and this version has no TLS of its own`,
      fix: `put a TLS proxy in front and give --behind-proxy, or listen on 127.0.0.1`,
    })
  }
  if (config.public_url?.startsWith('http:') === true) {
    problems.push({
      source: sourceOf('public_url'),
      message: 'profile production makes no links that travel without TLS: they decide approvals',
      fix: 'give an address that begins with https://',
    })
  }
  if (config.store === 'memory') {
    problems.push({
      source: sourceOf('store'),
      message: 'profile production does not keep its ledger in memory: a restart would forget what was sent',
      fix: `unset ${variableOf('store')}, or give the url of a PostgreSQL`,
    })
  }
  if (config.token_keys === undefined) {
    problems.push({
      source: sourceOf('token_keys'),
      message: 'profile production does not make the keys that sign tokens by itself',
      fix: "make the file with 'writ token rotate --file FILE', and give it with --token-keys",
    })
  }
  if (config.admin_token === undefined) {
    problems.push({
      source: variableOf('admin_token'),
      message: 'profile production does not keep the admin token in a file',
      fix: `set ${variableOf('admin_token')} in the environment to at least 32 random characters`,
    })
  }
  return problems
}
