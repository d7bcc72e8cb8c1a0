// Replies over gRPC whose message is compressed: read within the bounds of any other, where it is done as was offered.
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { UnaryEnd } from './grpc-call.ts'

/** Offered to every tool. */
export const ACCEPT_ENCODING = 'identity,gzip'

const expand = promisify(gunzip)

type Compressed = Extract<UnaryEnd, { kind: 'ended' }> & { readonly message: Uint8Array }

export function isCompressed(end: UnaryEnd): end is Compressed {
  return end.kind === 'ended' && end.compressed && end.message instanceof Uint8Array
}

/** The same end with the message that was meant, or with what stands against it. */
export async function decoded(end: Compressed, maxBytes: number): Promise<UnaryEnd> {
  // The flag alone says nothing: without a name, or with one that was not offered, nobody can read it.
  if (end.headers['grpc-encoding'] !== 'gzip') return { ...end, message: 'compressed' }
  try {
    return { ...end, message: await expand(end.message, { maxOutputLength: maxBytes }) }
  } catch (error) {
    const { code } = error as { readonly code?: unknown }
    return { ...end, message: code === 'ERR_BUFFER_TOO_LARGE' ? 'too-large' : 'undecodable' }
  }
}
