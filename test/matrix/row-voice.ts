// What the tools of the matrix are shown, and what they say in their own words.
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { sendJson } from '../transport/tool-peer.ts'
import type { Kind } from './row-table.ts'

export interface Voice {
  /** They send back what they were shown, wherever their protocol has a place for it, and in pieces. */
  readonly echoes: boolean
  /** The secrets that the tools are shown. */
  readonly documents: readonly JsonObject[]
  /** The credential of a tool whose way is about no other one, as a part of its spec. */
  auth(kind: Kind): JsonObject
  /** The same for programs, as variables. */
  readonly env: readonly JsonObject[]
  /** What a tool says that was asked with these headers. Never empty. */
  words(tool: string, headers: IncomingHttpHeaders): readonly string[]
  /** For programs, which find out by themselves what they were shown. */
  readonly program?: {
    /** A file with what they say. */
    readonly said: string
    /** A folder where each notes what it was shown, in a file of the name of the tool. */
    readonly notes: string
  }
  /** An access token that nobody has got yet. */
  grant(): string
}

/** Tools that are shown nothing. */
export function createPlainVoice(): Voice {
  let given = 0
  return {
    echoes: false,
    documents: [],
    auth: () => ({}),
    env: [],
    words: () => ['it says'],
    grant: () => `token-${given++}`,
  }
}

/** As keys and as values. */
export function saidJson(said: readonly string[]): JsonObject {
  return { said: [...said], keys: Object.fromEntries(said.map((one) => [one, 1])) }
}

/** In the headers, in the reason and in the body, of which no piece is as long as a secret. */
export function speak(
  { echoes }: Voice,
  response: ServerResponse,
  body: Json,
  said: readonly string[],
  status = 200,
): void {
  if (!echoes) {
    sendJson(response, body, status)
    return
  }
  response.writeHead(status, said[0], headOf(said))
  for (const piece of inPieces(JSON.stringify(body))) response.write(piece)
  response.end()
}

export function headOf([raw = '']: readonly string[]): Record<string, string> {
  return { 'content-type': 'application/json', 'x-said': raw, 'set-cookie': `said=${raw}` }
}

export function inPieces(text: string): readonly string[] {
  return text.match(/.{1,7}/gs) ?? []
}
