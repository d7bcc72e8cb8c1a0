// How a value in another notation becomes the canonical one. What a rule does not know it leaves for the schema to refuse.
import type { Json } from '../util/json.ts'
import type { ReadRule } from './field-row.ts'
import { fromJson, type SourceNode, toJson } from './source-tree.ts'

export interface ReadValue {
  readonly node: SourceNode
  readonly warning?: { readonly message: string; readonly fix: string }
}

/** Seed 001 writes its classes as headings; B8's spellings are the canonical ones. */
const CLASS_NAMES: ReadonlyMap<string, string> = new Map([
  ['financial-or-high-impact', 'financial-high-impact'],
  ['financial', 'financial-high-impact'],
  ['high-impact', 'financial-high-impact'],
])

/** The words of other contracts for one call per such a time. */
const RATE_UNITS: ReadonlyMap<string, string> = new Map([
  ['perSecond', '1s'],
  ['requestsPerSecond', '1s'],
  ['perMinute', '1m'],
  ['requestsPerMinute', '1m'],
  ['perHour', '1h'],
  ['requestsPerHour', '1h'],
])

/** The base that the word alone does not give. */
const EXPONENTIAL_BASE = '200ms'

export function readValue(rule: ReadRule, node: SourceNode): ReadValue {
  const value = toJson(node)
  switch (rule) {
    case 'lower':
      return as(node, lower(value))
    case 'seconds':
      return as(node, typeof value === 'number' ? `${value}s` : value)
    case 'milliseconds':
      return as(node, typeof value === 'number' ? `${value}ms` : value)
    case 'megabytes':
      return as(node, typeof value === 'number' ? `${value}Mi` : value)
    case 'jitter':
      return as(node, typeof value === 'boolean' ? (value ? 'full' : 'none') : lower(value))
    case 'backoff':
      return backoff(node, value)
    case 'profile':
      return profile(node, lower(value))
    case 'effect-class':
      return as(node, effectClass(value))
    case 'egress':
      return as(node, egress(value))
    case 'rate':
      return as(node, rate(value))
    case 'decision':
      return as(node, decision(value))
    case 'concurrency':
      return as(node, member(value, 'max', 'maxConcurrent', 'limit'))
  }
}

/** A new node only where the value changed, so that positions inside an unchanged one stay exact. */
function as(node: SourceNode, value: Json): ReadValue {
  return JSON.stringify(value) === JSON.stringify(toJson(node))
    ? { node }
    : { node: fromJson(value, node.at) }
}

function lower(value: Json): Json {
  if (typeof value === 'string') return value.trim().toLowerCase()
  return Array.isArray(value) ? value.map(lower) : value
}

function backoff(node: SourceNode, value: Json): ReadValue {
  if (typeof value !== 'string' || value.toLowerCase() !== 'exponential') return { node }
  return {
    node: fromJson(EXPONENTIAL_BASE, node.at),
    warning: {
      message: `every backoff is exponential; the word does not say where it begins, ${EXPONENTIAL_BASE} is used`,
      fix: `write backoff: ${EXPONENTIAL_BASE}`,
    },
  }
}

function profile(node: SourceNode, value: Json): ReadValue {
  if (value !== 'bearer_token') return as(node, value)
  return {
    node: fromJson('bearer', node.at),
    warning: { message: 'bearer_token is read as bearer', fix: 'write profile: bearer' },
  }
}

function effectClass(value: Json): Json {
  if (typeof value !== 'string') return value
  const kebab = value
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_]+/g, '-')
  return CLASS_NAMES.get(kebab) ?? kebab
}

/** Other systems write it with underscores, or as a verdict. */
function decision(value: Json): Json {
  if (typeof value !== 'string') return value
  const kebab = value.trim().toLowerCase().replaceAll('_', '-')
  return kebab === 'approval-required' ? 'require-approval' : kebab
}

function egress(value: Json): Json {
  if (Array.isArray(value)) return { allow: value }
  if (value === 'none' || value === 'deny' || value === 'deny-all') return { allow: [] }
  const list = member(value, 'allow', 'allowlist', 'allowedHosts', 'allowedOrigins')
  return list === value ? value : { allow: list }
}

function rate(value: Json): Json {
  const only = Array.isArray(value) && value.length === 1 ? (value[0] as Json) : value
  if (typeof only !== 'object' || only === null || Array.isArray(only)) return only
  const [name, ...others] = Object.keys(only)
  const unit = name === undefined || others.length > 0 ? undefined : RATE_UNITS.get(name)
  const max = name === undefined ? undefined : (only as Record<string, Json>)[name]
  return unit === undefined || max === undefined ? only : { max, per: unit }
}

/** The value of the only member, when it has one of these names; else the whole. */
function member(value: Json, ...names: readonly string[]): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const [only, ...others] = Object.entries(value)
  return only !== undefined && others.length === 0 && names.includes(only[0]) ? only[1] : value
}
