// The JSON body of a request that is no call, checked against the schema of its route: every violation at once.
import type { FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { lazySchema } from '../contract/dialect/lazy-schema.ts'
import type { Json, JsonObject, Violation } from '../util/json.ts'
import { parseStrictJson } from '../util/strict-json.ts'
import { readBody } from './body.ts'
import type { Edge } from './edge.ts'
import { json } from './openapi-parts.ts'
import { Refusal, type RefusalOptions } from './refusal.ts'

export interface JsonBody<T> {
  read(request: FastifyRequest): Promise<T>
  /** What the OpenAPI document says of it: the schema that is checked against. */
  readonly doc: JsonObject
}

/** A request without a body counts as one with an empty object: what is missing is then told field by field. */
export function jsonBody<S extends TSchema>(
  edge: Pick<Edge, 'bodyLimit'>,
  schema: S,
  rule: (body: Static<S>) => readonly Violation[] = () => [],
): JsonBody<Static<S>> {
  const compiled = lazySchema(schema)
  // TypeBox keeps non-enumerable marks on its schemas; the document is plain JSON.
  const plain = JSON.parse(JSON.stringify(schema)) as JsonObject
  const required = Array.isArray(plain.required) && plain.required.length > 0
  return {
    doc: { required, ...json(plain) },
    async read(request) {
      const body = hasBody(request) ? parseBody(await readBody(request, 'json', edge.bodyLimit)) : {}
      const violations = compiled.check(body)
      if (violations.length > 0) throw new Refusal(invalidBody(violations))
      const broken = rule(body as Static<S>)
      if (broken.length > 0) throw new Refusal(invalidBody(broken))
      return body as Static<S>
    },
  }
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Strict JSON (S3), or a refusal that says what is wrong with it and where. */
export function parseBody(bytes: Buffer): Json {
  const parsed = parseStrictJson(bytes)
  if (parsed.ok) return parsed.value
  if (parsed.kind === 'rule') throw new Refusal(invalidBody(parsed.violations))
  const [first] = parsed.violations
  throw new Refusal({
    failure: 'body-unreadable',
    message: `The body ${first?.message ?? 'is not readable'}.`,
    details: { violations: listed(parsed.violations) },
  })
}

function invalidBody(violations: readonly Violation[]): RefusalOptions {
  const [first] = violations
  const where = first === undefined ? '' : `: ${first.path || 'it'} ${first.message}`
  return {
    failure: 'envelope-invalid',
    message: `The body is not a valid request${where}.`,
    details: { violations: listed(violations) },
  }
}

function listed(violations: readonly Violation[]): JsonObject[] {
  return violations.map(({ path, message }) => ({ path, message }))
}
