// A clock that stands until it is moved, keys in memory, and tokens of every kind, right and wrong.
import { createHmac } from 'node:crypto'
import type { Caller } from '../../src/contract/caller.ts'
import type { Authenticated } from '../../src/identity/authenticate.ts'
import { createTokenKeys, type KeyFile } from '../../src/identity/key-file.ts'
import { type NewToken, signToken } from '../../src/identity/own-token.ts'
import type { Clock } from '../../src/util/world.ts'

export const START = Date.parse('2030-01-01T00:00:00Z')

export interface SetClock {
  readonly clock: Clock
  move(ms: number): void
}

export function standingClock(): SetClock {
  let now = 0
  return {
    clock: { now: () => START + now, monotonic: () => now },
    move(ms) {
      now += ms
    },
  }
}

export function memoryKeys(world: SetClock = standingClock()): KeyFile {
  return createTokenKeys(world)
}

export function tokenOf(keys: KeyFile, over: Partial<NewToken> = {}): Promise<string> {
  const issuedAt = over.issuedAt ?? START
  return signToken(
    {
      id: '01900000-0000-7000-8000-000000000001',
      actor: 'agent-7',
      namespace: 'default',
      kind: 'agent',
      roles: ['support'],
      audience: 'writ',
      issuedAt,
      expiresAt: issuedAt + 3_600_000,
      ...over,
    },
    keys,
  )
}

/** A token in parts that nobody signed as they are. */
export function forged(header: object, payload: object, signature = 'AAAA'): string {
  return `${encode(header)}.${encode(payload)}.${signature}`
}

export function hmacToken(header: object, payload: object, secret: string | Buffer): string {
  const text = `${encode(header)}.${encode(payload)}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

export function partsOf(token: string): {
  header: Record<string, unknown>
  payload: Record<string, unknown>
} {
  const [header = '', payload = ''] = token.split('.')
  return { header: decode(header), payload: decode(payload) }
}

/** The same claims under a header that was changed afterwards. */
export function withHeader(token: string, change: object): string {
  const [header = '', payload, signature] = token.split('.')
  return `${encode({ ...decode(header), ...change })}.${payload}.${signature}`
}

export function refusalIn(result: Authenticated): string {
  return 'refused' in result ? result.refused : `a caller: ${result.caller.actor}`
}

export function callerIn(result: Authenticated): Caller {
  if ('caller' in result) return result.caller
  throw new Error(`refused: ${result.refused} ${result.detail ?? ''}`)
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function decode(text: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
}
