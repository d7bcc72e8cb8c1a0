// The Cedar engine: WebAssembly, loaded when somebody first needs it. It keeps preparsed policies until they are
// replaced, so that they are kept in a bounded number of places, the least recently used of which is given away.
import { createRequire } from 'node:module'
import type * as Wasm from '@cedar-policy/cedar-wasm/nodejs'
import { type ParsedCedar, parseCedar } from './cedar-policy.ts'

type Cedar = typeof Wasm

/** Policies that are evaluated together. Known by its identity. */
export interface Slice {
  /** The texts, each a permit: the answer then names all that match, whatever else does. */
  readonly texts: readonly string[]
}

export type Request = Omit<Wasm.StatefulAuthorizationCall, 'preparsedPolicySetId'>
export type Verdict =
  | {
      readonly ok: true
      readonly satisfied: readonly number[]
      readonly failed: readonly { readonly index: number; readonly why: string }[]
    }
  | { readonly ok: false; readonly why: string }

export interface CedarEngine {
  readonly loaded: boolean
  /** The policies of a text, and what is wrong with it. Kept, because most texts do not change when others do. */
  read(text: string): ParsedCedar
  validate(call: Wasm.ValidationCall): Wasm.ValidationAnswer
  evaluate(slice: Slice, request: Request): Verdict
  /** Texts that nobody will ask about again: nothing that is kept has to give way. Each is a permit. */
  evaluateOnce(texts: readonly string[], request: Request): Verdict
}

/** The engine ran out of its stack or memory. It has been loaded anew. */
export class EngineBroke extends Error {
  override readonly name = 'EngineBroke'
}

/** What is said about a policy that breaks the engine although it is within all bounds. */
export const TOO_MUCH = Object.freeze({
  message: 'the engine cannot bear it',
  help: 'split it into several policies',
})

export interface EngineBounds {
  /** Slices that are kept preparsed. @default 512 */
  readonly slices?: number
  /** Policies in all of them, about 3 KB each; and as many of the texts that were read last. @default 20_000 */
  readonly policies?: number
}

export function createCedarEngine({ slices = 512, policies = 20_000 }: EngineBounds = {}): CedarEngine {
  let wasm: Cedar | undefined
  /** Where each slice is kept, the least recently used one first. */
  const places = new Map<Slice, string>()
  const free: string[] = []
  const texts = new Map<string, ParsedCedar>()
  let kept = 0
  let made = 0
  let remembered = 0

  /** A trap leaves the stack of an instance where it was: each later call would trap, too. */
  function guarded<T>(use: (cedar: Cedar) => T): T {
    wasm ??= load()
    try {
      return use(wasm)
    } catch (error) {
      wasm = undefined
      places.clear()
      free.length = 0
      kept = 0
      throw new EngineBroke(`the Cedar engine broke: ${error instanceof Error ? error.message : error}`)
    }
  }

  function giveAway(cedar: Cedar): void {
    const [oldest] = places
    if (oldest === undefined) return
    const [slice, place] = oldest
    cedar.preparsePolicySet(place, {})
    places.delete(slice)
    free.push(place)
    kept -= slice.texts.length
  }

  function placeOf(cedar: Cedar, slice: Slice): string | { readonly why: string } {
    const known = places.get(slice)
    if (known !== undefined) {
      places.delete(slice)
      places.set(slice, known)
      return known
    }
    while (places.size > 0 && (places.size >= slices || kept + slice.texts.length > policies)) giveAway(cedar)
    const place = free.pop() ?? `slice-${made++}`
    const answer = cedar.preparsePolicySet(place, policySet(slice.texts))
    if (answer.type === 'failure') {
      free.push(place)
      return { why: 'the engine does not read these policies' }
    }
    places.set(slice, place)
    kept += slice.texts.length
    return place
  }

  return {
    get loaded() {
      return wasm !== undefined
    },
    read(text) {
      const known = texts.get(text)
      if (known !== undefined) return known
      const parsed = parseCedar(text, (policy) => {
        try {
          return guarded((cedar) => cedar.policyToJson(policy))
        } catch (error) {
          if (!(error instanceof EngineBroke)) throw error
          return { type: 'failure', errors: [{ ...TOO_MUCH, code: null, url: null, severity: null }] }
        }
      })
      for (const [old, { policies: its }] of texts) {
        if (remembered + parsed.policies.length <= policies) break
        texts.delete(old)
        remembered -= its.length
      }
      texts.set(text, parsed)
      remembered += parsed.policies.length
      return parsed
    },
    validate: (call) => guarded((cedar) => cedar.validate(call)),
    evaluate: (slice, request) =>
      guarded((cedar): Verdict => {
        const place = placeOf(cedar, slice)
        if (typeof place !== 'string') return { ok: false, why: place.why }
        return verdictOf(cedar.statefulIsAuthorized({ ...request, preparsedPolicySetId: place }))
      }),
    evaluateOnce: (texts, request) =>
      guarded((cedar) => verdictOf(cedar.isAuthorized({ ...request, policies: policySet(texts) }))),
  }
}

function policySet(texts: readonly string[]): Wasm.PolicySet {
  return { staticPolicies: Object.fromEntries(texts.map((text, index) => [String(index), text])) }
}

function verdictOf(answer: Wasm.AuthorizationAnswer): Verdict {
  if (answer.type === 'failure') return { ok: false, why: 'the engine does not read the request' }
  const { reason, errors } = answer.response.diagnostics
  const failed = errors.map(({ policyId, error }) => ({
    index: Number(policyId),
    why: whyFailed(error.message),
  }))
  return { ok: true, satisfied: reason.map(Number), failed }
}

/** The engine's own words hold values of the input. */
function whyFailed(message: string): string {
  if (message.includes('overflow')) return 'a sum, difference or product is too large'
  if (message.includes('does not have the attribute')) return 'an attribute that it reads is not there'
  if (message.includes('type error')) return 'a value has another type than it expects'
  return 'it could not be evaluated'
}

/** An instance of one's own: what is kept in it belongs to nobody else. */
function load(): Cedar {
  const require = createRequire(import.meta.url)
  const path = require.resolve('@cedar-policy/cedar-wasm/nodejs')
  delete require.cache[path]
  const cedar = require(path) as Cedar
  delete require.cache[path]
  return cedar
}
