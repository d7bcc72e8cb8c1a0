// writ token inspect: what a token says, and whether it is valid here. The token itself is never printed.
import { createClient } from '../../client/client.ts'
import { ClientError } from '../../client/client-error.ts'
import type { Identity } from '../../client/tokens.ts'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import { CliError, EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { findServer } from '../find-server.ts'
import { printResult, renderFields } from '../print.ts'
import type { Terminal } from '../terminal.ts'

const MAX_BYTES = 64 * 1024

export const command = defineCommand({
  name: 'token inspect',
  summary: 'Show what a token says, and whether it is valid here',
  details: [
    'Reads the token from WRIT_TOKEN, or with - from standard input, shows its claims, and asks the server whether it takes it. The token is never printed. The exit code is 0 when it is valid and 4 when it is not.',
  ],
  args: [{ name: 'from', description: '- reads standard input.', optional: true, values: ['-'] }],
  flags: { ...OUTPUT_FLAG, data: SERVER_FLAGS.data },
  examples: [
    { line: 'writ token inspect', does: 'The token in WRIT_TOKEN' },
    { line: 'writ token create --actor agent-7 | writ token inspect -', does: 'One from a pipe' },
  ],
  async run({ flags, args, terminal }) {
    const token = await readToken(terminal, args.from === '-')
    const claims = claimsOf(token)
    const { identity, refusal } = await askServer(terminal, flags.data, token)
    const result = {
      valid: identity !== undefined,
      ...(refusal === undefined ? {} : { reason: refusal.reason, message: refusal.message }),
      ...(claims === undefined ? {} : { claims }),
      ...(identity === undefined ? {} : { identity }),
    }
    await printResult(terminal, flags.output, result, () =>
      renderFields([
        ['Valid', refusal === undefined ? 'yes' : `no: ${refusal.message}`],
        ['Token', textOf(identity?.token_id ?? claims?.jti)],
        ['Actor', textOf(identity?.actor ?? claims?.sub)],
        ['Kind', textOf(identity?.kind ?? claims?.kind)],
        ['Namespace', textOf(identity?.namespace ?? claims?.namespace)],
        ['Roles', listOf(identity?.roles ?? claims?.roles)],
        ['Missing roles', listOf(identity?.missing_roles)],
        ['Permissions', listOf(identity?.permissions)],
        ['Scopes', listOf(identity?.scopes ?? claims?.scopes)],
        ['Agents', listOf(identity?.agents ?? claims?.agents)],
        ['Issuer', textOf(claims?.iss)],
        ['Audience', textOf(claims?.aud) ?? listOf(claims?.aud)],
        ['Issued', timeOf(claims?.iat)],
        ['Expires', timeOf(claims?.exp)],
      ]),
    )
    return identity === undefined ? EXIT.denied : EXIT.ok
  },
})

async function readToken(terminal: Terminal, fromIn: boolean): Promise<string> {
  const given = fromIn
    ? new TextDecoder().decode(await terminal.readIn(MAX_BYTES))
    : (terminal.env.WRIT_TOKEN ?? '')
  const token = given.trim()
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw new CliError(fromIn ? 'there is no token on standard input' : 'WRIT_TOKEN is not set', {
    exit: EXIT.usage,
    fix: 'set WRIT_TOKEN, or pipe the token in and give -',
  })
}

/** What it says of itself, unverified; undefined for a token that is no JWT, as the admin's. */
function claimsOf(token: string): JsonObject | undefined {
  const [, payload, signature, more] = token.split('.')
  if (payload === undefined || signature === undefined || more !== undefined) return undefined
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
    return isJsonObject(claims) ? claims : undefined
  } catch {
    return undefined
  }
}

interface Verdict {
  readonly identity?: Identity
  readonly refusal?: { readonly reason: string; readonly message: string }
}

async function askServer(terminal: Terminal, data: string | undefined, token: string): Promise<Verdict> {
  // Where to ask is found as ever; with which token is the question itself.
  const env = { ...terminal.env, WRIT_TOKEN: token }
  const { url } = findServer({ ...terminal, env }, data)
  const client = createClient({ url, token })
  try {
    return { identity: await client.whoami() }
  } catch (error) {
    if (!(error instanceof ClientError) || error.failure !== 'unauthenticated') throw error
    const { reason } = error.details
    return { refusal: { reason: typeof reason === 'string' ? reason : 'malformed', message: error.message } }
  } finally {
    await client.close()
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function listOf(value: unknown): string | undefined {
  return Array.isArray(value) && value.length > 0 ? value.map(String).join(', ') : undefined
}

function timeOf(value: unknown): string | undefined {
  const at = typeof value === 'number' ? new Date(value * 1000) : undefined
  return at === undefined || Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}
