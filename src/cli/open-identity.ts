// Whom a server that is about to start believes: its token keys, and the issuers of its file.
import { resolve } from 'node:path'
import type { Config } from '../config/config-schema.ts'
import { createEgress } from '../egress/egress.ts'
import { createOwnReach } from '../egress/own-reach.ts'
import { createAuthenticator } from '../identity/authenticator.ts'
import { createFetchJson } from '../identity/fetch-json.ts'
import { createTokenKeys, type KeyFile, openTokenKeys } from '../identity/key-file.ts'
import { type OidcIssuer, readOidcConfig } from '../identity/oidc-config.ts'
import { createIsRevoked } from '../identity/revoked.ts'
import { createTokenDoor } from '../identity/token-door.ts'
import type { Runtime } from '../runtime-api.ts'
import type { World } from '../util/world.ts'
import { CliError, EXIT, messageOf } from './cli-error.ts'
import type { OpenData } from './open-data.ts'
import { readLocalFile } from './read-file.ts'
import type { Terminal } from './terminal.ts'

export interface IdentityParts {
  readonly keys: KeyFile
  readonly issuers: readonly OidcIssuer[]
}

/** What does not need a runtime: a mistake in a file stops the start before anything is opened. */
export function openIdentity(
  terminal: Terminal,
  config: Config,
  data: OpenData,
  world: World,
  onTrouble: (message: string) => void,
): IdentityParts {
  return { keys: openKeys(terminal, config, data, world, onTrouble), issuers: readIssuers(terminal, config) }
}

/** How the server knows callers, and what it does about tokens. */
export function identityOf(
  { keys, issuers }: IdentityParts,
  config: Config,
  { token: adminToken }: OpenData,
  runtime: Runtime,
  world: World,
  onTrouble: (message: string) => void,
) {
  const { token_audience: audience, profile } = config
  const reach = createOwnReach({ profile, private: egressPrivateOf(config) })
  const authenticate = createAuthenticator({
    world,
    adminToken,
    own: { keys, audience },
    issuers,
    fetchJson: createFetchJson(createEgress({ world, reach })),
    isRevoked: createIsRevoked(runtime.stops),
    oidc: { onTrouble },
  })
  const tokens = createTokenDoor({
    world,
    keys,
    audience,
    held: (caller) => runtime.held(caller),
    record: (namespace, type, body) => runtime.record(namespace, type, body),
    stops: runtime.stops,
  })
  return { authenticate, tokens }
}

/** What the server itself may reach on private addresses. */
export function egressPrivateOf({ egress_private: list }: Config): readonly string[] {
  return list === undefined ? [] : list.split(',').map((one) => one.trim())
}

function openKeys(
  { cwd }: Terminal,
  { token_keys: file, store }: Config,
  { folder }: OpenData,
  world: World,
  onTrouble: (message: string) => void,
): KeyFile {
  // What forgets revocations when it ends must not leave tokens behind that would be good again.
  if (file === undefined && store === 'memory') return createTokenKeys(world)
  try {
    const path = file === undefined ? folder.tokenKeys : resolve(cwd, file)
    return openTokenKeys({ path, make: file === undefined, world, onTrouble })
  } catch (error) {
    const [message = '', fix] = messageOf(error).split('. Fix: ')
    throw new CliError(message, { exit: EXIT.startFailed, ...(fix === undefined ? {} : { fix }) })
  }
}

const MAX_BYTES = 1024 * 1024

function readIssuers({ cwd }: Terminal, { oidc: file }: Config): readonly OidcIssuer[] {
  if (file === undefined) return []
  const read = readOidcConfig(readLocalFile(cwd, file, MAX_BYTES), file)
  if (read.ok) return read.issuers
  throw new CliError(`the issuers in ${file} cannot be used`, {
    exit: EXIT.startFailed,
    lines: read.problems,
    fix: 'mend what is named above',
  })
}
