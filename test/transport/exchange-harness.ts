// One exchange with a server that does as a test says: the request, the answer, and the network it goes over.
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { after } from 'node:test'
import type { Dispatcher } from 'undici'
import { createNetwork } from '../../src/egress/network.ts'
import { type Exchange, type ExchangeRequest, exchange } from '../../src/transport/http-exchange.ts'
import { Abort } from '../../src/util/abort.ts'
import { makeSink, type RecordingSink } from './send-fixture.ts'
import { listenRaw, type Peer } from './tool-peer.ts'

export const network = createNetwork()
after(() => network.destroy())

type Answered = Extract<Exchange, { kind: 'answered' }>

export function request(origin: string, overrides: Partial<ExchangeRequest> = {}): ExchangeRequest {
  return {
    origin,
    path: '/',
    method: 'POST',
    headers: [],
    body: '{}',
    maxBytes: 65_536,
    repeatHarmless: false,
    reach: 'loopback',
    ...overrides,
  }
}

export function run(
  origin: string,
  options: { abort?: Abort; sink?: RecordingSink; via?: Dispatcher } & Partial<ExchangeRequest> = {},
): Promise<Exchange> {
  const { abort = new Abort(), sink = makeSink(), via = network, ...overrides } = options
  return exchange(via, request(origin, overrides), abort, sink)
}

export async function withRaw(
  respond: (socket: Socket, request: string, index: number) => void,
  use: (peer: Peer) => Promise<void>,
) {
  const peer = await listenRaw(respond)
  try {
    await use(peer)
  } finally {
    await peer.close()
  }
}

/** The answer to these very bytes, after which the server hangs up. */
export async function answerTo(
  bytes: string | Buffer,
  options: Parameters<typeof run>[1] = {},
): Promise<Exchange> {
  let result: Exchange | undefined
  await withRaw(
    (socket) => socket.end(bytes),
    async (peer) => {
      result = await run(peer.origin, options)
    },
  )
  return result as Exchange
}

export function answered(result: Exchange): Answered {
  if (result.kind !== 'answered') assert.fail(JSON.stringify(result))
  return result
}

export function textOf(result: Exchange): string {
  return Buffer.from(answered(result).body).toString()
}

export function head(...lines: string[]): string {
  return `HTTP/1.1 200 OK\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`
}
