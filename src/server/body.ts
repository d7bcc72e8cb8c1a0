// Request bodies: the media type first, then at most the limit in memory, then strict text.
import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { Refusal } from './refusal.ts'

export type BodyKind = 'json' | 'manifest' | 'form'

interface Accepts {
  readonly pattern: RegExp
  readonly fix: string
}

const ACCEPTS: Record<BodyKind, Accepts> = {
  json: {
    pattern: /^application\/(?:json|[\w.-]+\+json)$/,
    fix: 'Send JSON with "Content-Type: application/json".',
  },
  manifest: {
    pattern: /^(?:application\/(?:json|[\w.-]+\+json|yaml|x-yaml|[\w.-]+\+yaml)|text\/(?:x-)?yaml)$/,
    fix: 'Send YAML with "Content-Type: application/yaml", or JSON with "Content-Type: application/json".',
  },
  form: {
    pattern: /^application\/x-www-form-urlencoded$/,
    fix: 'Send the form of the page, as "application/x-www-form-urlencoded".',
  },
}

/** The bytes of the body. Nothing past the limit is ever held; the rest is discarded by `discardRest`. */
export function readBody(request: FastifyRequest, kind: BodyKind, limit: number): Promise<Buffer> {
  const { raw, headers } = request
  checkType(headers['content-type'], headers['content-encoding'], ACCEPTS[kind])
  const announced = Number(headers['content-length'] ?? 0)
  if (announced > limit) return Promise.reject(tooLarge(limit, announced))
  return collect(raw, limit)
}

/** Without its parameters, in lower case; '' when absent. */
export function mediaType(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

function checkType(type: string | undefined, encoding: string | undefined, accepts: Accepts): void {
  if (!accepts.pattern.test(mediaType(type))) {
    const what =
      type === undefined ? 'The request has no Content-Type.' : 'The Content-Type is not one of this route.'
    throw new Refusal({ failure: 'body-unreadable', status: 415, message: what, fix: accepts.fix })
  }
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(type ?? '')?.[1]?.toLowerCase()
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8') {
    throw new Refusal({
      failure: 'body-unreadable',
      status: 415,
      message: 'The charset of the body is not UTF-8.',
      fix: 'Send the body in UTF-8.',
    })
  }
  // A few compressed kilobytes can hold gigabytes.
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
    throw new Refusal({
      failure: 'body-unreadable',
      status: 415,
      message: 'The body has a Content-Encoding; compressed bodies are not read.',
      fix: 'Send the body as it is, without Content-Encoding.',
      headers: { 'accept-encoding': 'identity' },
    })
  }
}

function tooLarge(limit: number, received: number): Refusal {
  return new Refusal({
    failure: 'input-too-large',
    message: `The body is larger than ${limit} bytes.`,
    details: { limit_bytes: limit, received_bytes: received },
  })
}

function collect(raw: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const done = (settle: () => void): void => {
      raw.off('data', onData).off('end', onEnd).off('close', onClose)
      settle()
    }
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      if (size > limit) done(() => reject(tooLarge(limit, size)))
      else chunks.push(chunk)
    }
    const onEnd = (): void =>
      done(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size)))
    // Gone before the end: nobody is there to be told.
    const onClose = (): void => done(() => reject(new CallerGone()))
    raw.on('data', onData).on('end', onEnd).on('close', onClose)
  })
}

/** The caller left while its request was read. */
export class CallerGone extends Error {
  override readonly name = 'CallerGone'
}
