// Reads the Cedar text of an AgentPolicy: its policies, what their annotations ask for, and what is wrong with it.
import type { DetailedError, PolicyJson, PolicyToJsonAnswer } from '@cedar-policy/cedar-wasm/nodejs'
import { isName } from '../../resource/name.ts'
import type { Position } from '../../resource/problem.ts'
import { didYouMean } from '../../util/did-you-mean.ts'
import { parseDuration } from '../../util/duration.ts'
import { FORBID_DECISIONS, type ForbidDecision } from './cedar.ts'
import { type CedarReads, readsOf } from './cedar-reads.ts'
import { charactersIn, positionAt, type Statement, splitCedar } from './cedar-text.ts'

export interface CedarPolicy {
  readonly index: number
  /** `@id`, or its number from 0. */
  readonly id: string
  /** `cedar:LINE:COLUMN#ID`. */
  readonly rule: string
  readonly statement: Statement
  /** As a permit, whatever it is: so the engine names all that match. */
  readonly asPermit: string
  readonly json: PolicyJson
  /** What a match asks for. */
  readonly decision: ForbidDecision | 'allow'
  readonly reason?: string
  readonly retryAfterMs?: number
  readonly reads: CedarReads
}

export interface CedarProblem {
  readonly at: Position
  readonly message: string
  readonly fix: string
}

export interface ParsedCedar {
  readonly text: string
  readonly policies: readonly CedarPolicy[]
  /** With a permit it is an allowlist: what none of them permits is denied. */
  readonly permits: boolean
  readonly problems: readonly CedarProblem[]
}

const MAX_POLICIES = 2_000
const MAX_REASON = 1_000
/** The engine evaluates by recursion. */
const MAX_DEPTH = 100
const ANNOTATIONS = ['id', 'decision', 'reason', 'retry_after']

type ToJson = (text: string) => PolicyToJsonAnswer

export function parseCedar(text: string, toJson: ToJson): ParsedCedar {
  const statements = splitCedar(text)
  const problems: CedarProblem[] = []
  const policies: CedarPolicy[] = []
  if (statements.length === 0) {
    const fix = 'write a permit or a forbid, or leave `cedar` out'
    problems.push({ at: { line: 1, column: 1 }, message: 'holds no policy', fix })
  } else if (statements.length > MAX_POLICIES) {
    const at = positionAt(text, statements[MAX_POLICIES]?.start ?? 0)
    const message = `holds ${statements.length} policies; at most ${MAX_POLICIES} are read`
    problems.push({ at, message, fix: 'split it into several AgentPolicies' })
  } else {
    const ids = new Map<string, number>()
    for (const [index, statement] of statements.entries()) {
      const read = readStatement(text, statement, index, toJson)
      problems.push(...read.problems)
      if (read.policy === undefined) continue
      policies.push(read.policy)
      const { id } = read.policy
      if (ids.has(id)) {
        const message = `the id ${JSON.stringify(id)} is taken by an earlier policy`
        problems.push({ at: startOf(text, statement), message, fix: 'give each policy an @id of its own' })
      }
      ids.set(id, index)
    }
  }
  return { text, policies, permits: policies.some(({ json }) => json.effect === 'permit'), problems }
}

export function startOf(text: string, { start }: Statement): Position {
  return positionAt(text, start)
}

interface Read {
  readonly policy?: CedarPolicy
  readonly problems: readonly CedarProblem[]
}

function readStatement(text: string, statement: Statement, index: number, toJson: ToJson): Read {
  const { excess, effectAt = 0 } = statement
  const at = startOf(text, statement)
  if (excess !== undefined) {
    const { what, fix } = excess
    const position = positionAt(text, statement.from + excess.at)
    return { problems: [{ at: position, message: `has ${what}, which the engine cannot bear`, fix }] }
  }
  const answer = toJson(statement.text)
  if (answer.type === 'failure') {
    return { problems: answer.errors.flatMap((error) => fromEngine(text, statement, error)) }
  }
  const { json } = answer
  if (depthOf(json.conditions) > MAX_DEPTH) {
    const message = `has an expression more than ${MAX_DEPTH} deep, which the engine cannot bear`
    return { problems: [{ at, message, fix: 'split it into several policies' }] }
  }
  const asked = readAnnotations(text, statement, json)
  const id = json.annotations?.id || String(index)
  const { text: written } = statement
  const policy: CedarPolicy = {
    index,
    id,
    rule: `cedar:${at.line}:${at.column}#${id}`,
    statement,
    asPermit: `${written.slice(0, effectAt)}permit${written.slice(effectAt + 'permit'.length)}`,
    json,
    decision: json.effect === 'permit' ? 'allow' : (asked.decision ?? 'deny'),
    ...(asked.reason === undefined ? {} : { reason: asked.reason }),
    ...(asked.retryAfterMs === undefined ? {} : { retryAfterMs: asked.retryAfterMs }),
    reads: readsOf(json.conditions),
  }
  return { policy, problems: asked.problems }
}

interface Asked {
  readonly decision?: ForbidDecision
  readonly reason?: string
  readonly retryAfterMs?: number
  readonly problems: readonly CedarProblem[]
}

function readAnnotations(text: string, statement: Statement, json: PolicyJson): Asked {
  const problems: CedarProblem[] = []
  const say = (name: string, message: string, fix: string) => {
    const found = statement.annotations.find((one) => one.name === name)?.at
    const offset = found === undefined ? statement.start : statement.from + found
    problems.push({ at: positionAt(text, offset), message, fix })
  }
  const given = json.annotations ?? {}
  for (const name of Object.keys(given)) {
    if (ANNOTATIONS.includes(name)) continue
    const meant = didYouMean(name, ANNOTATIONS)
    const known = ANNOTATIONS.map((one) => `@${one}`).join(', ')
    const fix = meant === undefined ? `known are ${known}` : `did you mean @${meant}?`
    say(name, `the annotation @${name} is not known`, fix)
  }
  for (const name of ANNOTATIONS) {
    if (name in given && (given[name] ?? '') === '') {
      say(name, `@${name} has no text`, `write @${name}("…")`)
    }
  }
  if (given.id && !isName(given.id)) {
    say('id', '@id is no name', 'use letters, digits, dots, underscores and hyphens, 128 at most')
  }
  const decision = FORBID_DECISIONS.find((one) => one === given.decision)
  if (given.decision && decision === undefined) {
    const meant = didYouMean(given.decision, FORBID_DECISIONS)
    const fix = meant === undefined ? `write one of ${FORBID_DECISIONS.join(', ')}` : `did you mean ${meant}?`
    say('decision', `@decision does not know ${JSON.stringify(given.decision)}`, fix)
  }
  const { reason } = given
  if (reason && reason.length > MAX_REASON) {
    say('reason', `@reason is longer than ${MAX_REASON} characters`, 'say it in a sentence')
  }
  const retryAfterMs = given.retry_after ? parseDuration(given.retry_after) : undefined
  if (given.retry_after && (retryAfterMs === undefined || retryAfterMs === 0)) {
    say('retry_after', '@retry_after is no duration', 'write a duration such as 30s, 10m or 24h')
  }
  if (json.effect === 'permit') {
    for (const name of ['decision', 'retry_after'].filter((one) => one in given)) {
      say(name, `@${name} stands on a permit, where it says nothing`, 'move it to a forbid, or take it away')
    }
  } else if (given.retry_after && (decision ?? 'deny') !== 'deny') {
    say(
      'retry_after',
      '@retry_after is about denials, and this forbid does not deny',
      'take one of them away',
    )
  }
  return {
    problems,
    ...(decision === undefined ? {} : { decision }),
    ...(reason ? { reason } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}

/** A number of the input is a decimal, and operators of whole numbers do not take one. */
const DECIMAL_MIXED = /Long but saw decimal|decimal but saw Long|types Long and decimal/
const DECIMAL_FIX =
  'a number is a decimal: write .greaterThan(decimal("100.0")), and lessThan and the others in the same way'

/** What the engine complains about, in the whole text. */
export function fromEngine(
  text: string,
  statement: Statement,
  error: DetailedError,
): readonly CedarProblem[] {
  const [place] = error.sourceLocations ?? []
  const offset =
    place === undefined ? statement.start : statement.from + charactersIn(statement.text, place.start)
  const what = error.message
    .replace(/^failed to parse policy (with id `[^`]*` )?from string: /, '')
    .replace(/^for policy `[^`]*`, /, '')
  const message = place?.label ? `${what}: ${place.label}` : what
  const fix = DECIMAL_MIXED.test(message)
    ? DECIMAL_FIX
    : (error.help ?? 'write it as docs/guide/policy-cedar.md shows')
  return [
    { at: positionAt(text, offset), message, fix },
    ...(error.related ?? []).flatMap((one) => fromEngine(text, statement, one)),
  ]
}

/** Levels that the engine goes down; rows of && and || are walked without. */
function depthOf(node: unknown): number {
  if (typeof node !== 'object' || node === null) return 0
  let deepest = 0
  for (const [key, child] of Object.entries(node)) {
    deepest = Math.max(deepest, key === '&&' || key === '||' ? rowDepth(child, key) : depthOf(child))
  }
  const isExpression = !Array.isArray(node) && !('left' in node) && !('arg' in node)
  return deepest + (isExpression ? 1 : 0)
}

function rowDepth(node: { readonly left?: unknown; readonly right?: unknown }, key: string): number {
  let deepest = 0
  let at: typeof node | undefined = node
  while (at !== undefined) {
    deepest = Math.max(deepest, depthOf(at.right))
    const left: Partial<Record<string, typeof node>> = at.left ?? {}
    if (left[key] === undefined) deepest = Math.max(deepest, depthOf(left))
    at = left[key]
  }
  return deepest
}
