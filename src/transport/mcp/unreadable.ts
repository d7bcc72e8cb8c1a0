// An answer that cannot be read: whose it is, so that whoever waits for it is told, and what is wrong with it.
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { isJsonObject, type Json } from '../../util/json.ts'

/** By how it begins: `jsonrpc` and `id`, in either order. What goes on with a method is no answer. */
const AT_START = [
  /^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,15})\s*(?:[,}](?!\s*"(?:method|params)")|$)/,
  /^\s*\{\s*"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?(?:[,}](?!\s*"(?:jsonrpc|method|params)")|$)/,
]
const EDGE_BYTES = 256
const END_BYTES = 64

export function idAtStart(line: Buffer): number | undefined {
  const text = line.subarray(0, EDGE_BYTES).toString('latin1')
  for (const pattern of AT_START) {
    const [, id] = pattern.exec(text) ?? []
    if (id !== undefined) return Number(id)
  }
  return undefined
}

export function idAtEnd(line: Buffer): number | undefined {
  const named = /"id"\s*:\s*(\d{1,15})\s*\}\s*$/.exec(line.subarray(-END_BYTES).toString('latin1'))
  return named === null ? undefined : Number(named[1])
}

/** Of an answer to a question that is no call. */
export const UNREADABLE = -32700

/** For the SDK, which would wait for an answer that has come already. */
export function unreadable(id: number, why: string): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: UNREADABLE, message: why } }
}

/** Why an answer is none of JSON-RPC. */
export function problemOf(message: { readonly [key: string]: Json | undefined }): string | undefined {
  const { result, error } = message
  if (error !== undefined) {
    const isError = isJsonObject(error) && Number.isInteger(error.code) && typeof error.message === 'string'
    return isError ? undefined : 'the error of the answer has no code or no message'
  }
  return isJsonObject(result) ? undefined : 'the answer has neither a result that is an object nor an error'
}
