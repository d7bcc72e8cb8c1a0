// What the framework and the store throw, in our words. Anything unknown is a fault of ours, and its text stays here.
import { PolicyUnavailable } from '../governance/authority.ts'
import { StoreUnavailable } from '../runtime.ts'
import type { RefusalOptions } from './refusal.ts'

export function refusalOf(error: unknown): RefusalOptions {
  // Whatever a request may have sent, it tells of by itself: what ends up here came to nothing.
  if (error instanceof StoreUnavailable) {
    return {
      failure: 'intent-not-recorded',
      // The store's own words name hosts and files.
      message: 'The store cannot be reached; nothing was sent by this request.',
    }
  }
  // What it cannot read is for the log: names of resources may be of no concern to this caller.
  if (error instanceof PolicyUnavailable)
    return { failure: 'policy-unavailable', details: { retry_after_ms: 1000 } }
  switch (codeOf(error)) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return {
        failure: 'body-unreadable',
        status: 415,
        message: 'The Content-Type header is not a media type.',
        fix: 'Send "Content-Type: application/json".',
      }
    case 'FST_ERR_BAD_URL':
      return {
        failure: 'envelope-invalid',
        status: 400,
        message: 'The path of the request is not a valid URL.',
        fix: 'Encode what is not a letter or digit as %XX.',
        details: { violations: [{ path: '/path', message: 'cannot be decoded' }] },
      }
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return {
        failure: 'envelope-invalid',
        status: 414,
        message: 'A part of the path is too long.',
        fix: 'Names have at most 253 characters, ids 36, tokens of links less than 2048.',
        details: { violations: [{ path: '/path', message: 'has a part of more than 2048 characters' }] },
      }
    default:
      return { failure: 'internal' }
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}
