// Secrets in variables of the server's own environment.
//
// WRIT_SECRET_NAME for the namespace default, WRIT_SECRET_NAMESPACE___NAME for others; `__KEY` follows for a key of its
// own. Names that could be read as another namespace's are not looked up at all: no variable crosses namespaces.
import type { ProviderFactory } from './provider.ts'
import { readValues } from './provider.ts'

export interface EnvSettings {
  readonly type: 'env'
  /** @default WRIT_SECRET_ */
  readonly prefix?: string
}

const PREFIX = 'WRIT_SECRET_'
/** Has the form of one, and is the setting that names the file of providers. */
const SETTING = 'WRIT_SECRET_PROVIDERS'

export const createEnvProvider: ProviderFactory<EnvSettings> = ({ prefix = PREFIX }, { env }) => ({
  name: 'env',
  async read({ namespace, name, key }) {
    const variable = variableOf(prefix, namespace, name)
    if (variable === undefined || variable === SETTING) return undefined
    const found = new Map<string, string>()
    const plain = env[variable]
    if (plain !== undefined) found.set('value', plain)
    for (const [other, text] of Object.entries(env)) {
      const rest = other.startsWith(`${variable}__`) ? other.slice(variable.length + 2) : ''
      if (text !== undefined && isPlain(rest)) found.set(rest.toLowerCase(), text)
    }
    const asked = key === undefined ? undefined : found.get(normalize(key).toLowerCase())
    if (key !== undefined && asked !== undefined) found.set(key, asked)
    const values = readValues(found, `the environment, ${variable}`)
    // The environment of a process does not change.
    return Object.keys(values).length === 0 ? undefined : { values, version: 'environment' }
  },
})

/** Undefined where two names, or two namespaces, would have one variable. */
export function variableOf(prefix: string, namespace: string, name: string): string | undefined {
  const upper = normalize(name)
  if (!isPlain(upper)) return undefined
  if (namespace === 'default') return `${prefix}${upper}`
  return /^[a-z0-9]+(-[a-z0-9]+)*$/.test(namespace)
    ? `${prefix}${normalize(namespace)}___${upper}`
    : undefined
}

function normalize(text: string): string {
  return text.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')
}

function isPlain(upper: string): boolean {
  return /^[A-Z0-9]+(_[A-Z0-9]+)*$/.test(upper)
}
