// What a request to a plain HTTP service carries of the input: a body, or fields in the query of its address.
import { carriageOf, pairsOf, unfitForHttp } from '../resource/http-carriage.ts'
import { WITH_BODY } from '../resource/named-url.ts'
import { isJsonObject, type Violation } from '../util/json.ts'
import type { PostBody } from './http-post.ts'
import type { Refusal, Send } from './transport.ts'

const NOTHING: PostBody = { text: null, contentType: '' }

/**
 * Input is serialised anew, so that policy and tool read the same (S3). Text for an operation without a schema is the
 * raw input of seed 000 and goes out as it is; with a schema, a text is a JSON value like any other.
 */
export function httpBody(send: Send): PostBody | Refusal {
  const { input, operation, tool } = send
  if (operation.request !== undefined) {
    return WITH_BODY.has(operation.request.method) && input !== undefined ? jsonBody(send) : NOTHING
  }
  const unfit = unfitForHttp(tool, operation, input)
  if (unfit.length > 0) return refusal(unfit)
  const { http } = tool
  const method = http === undefined ? {} : { method: http.method }
  if (input === undefined) return { ...NOTHING, ...method }
  switch (carriageOf(tool)) {
    case 'query':
      return { ...NOTHING, ...method, ...(isJsonObject(input) ? { query: pairsOf(input) } : {}) }
    case 'form':
    case 'text': {
      const text = isJsonObject(input) ? pairsOf(input) : String(input)
      return { text, contentType: http?.contentType ?? '', ...method }
    }
    default:
      return { ...jsonBody(send), ...method }
  }
}

function jsonBody({ input, operation, text, tool }: Send): PostBody {
  if (typeof input === 'string' && operation.inputSchema === undefined) {
    return { text: input, contentType: 'text/plain; charset=utf-8' }
  }
  const contentType = operation.request === undefined ? tool.http?.contentType : undefined
  return { text: text ?? JSON.stringify(input), contentType: contentType ?? 'application/json' }
}

function refusal(violations: readonly Violation[]): Refusal {
  return {
    kind: 'failure',
    failure: 'input-invalid',
    message: 'the input cannot be sent in the way that the tool declares',
    details: { violations: violations.map(({ path, message }) => ({ path: `/input${path}`, message })) },
    definite: true,
  }
}
