// The `effect` block of a tool or operation: what a second send would do, and what may be asked or undone.
import Type from 'typebox'
import { DETERMINISMS, EFFECT_CLASSES } from '../contract/effect.ts'
import type { JsonObject } from '../util/json.ts'
import { closed, Duration } from './schema-part.ts'

const Scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean()])
const States = Type.Union([Scalar, Type.Array(Scalar, { minItems: 1 })], {
  expected: 'a value, or a list of values',
})

/** S27: an operation of the same tool by name, or for http a request and how to read its state. */
const namedOperation = {
  operation: Type.Optional(Type.String({ minLength: 1 })),
  method: Type.Optional(Type.Enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])),
  url: Type.Optional(Type.String({ minLength: 1 })),
  state: Type.Optional(Type.String()),
  done: Type.Optional(States),
  not_done: Type.Optional(States),
  running: Type.Optional(States),
}

const NamedOperation = Type.Union([Type.String({ minLength: 1 }), Type.Object(namedOperation, closed)], {
  expected: 'the name of an operation, or {operation} or {method, url, ...}',
  sameAs: 'spec.effect.status_query',
})

export const EffectSchema = Type.Object(
  {
    class: Type.Optional(Type.Enum(EFFECT_CLASSES)),
    determinism: Type.Optional(Type.Enum(DETERMINISMS)),
    key: Type.Optional(Type.Enum(['optional', 'required'])),
    identity: Type.Optional(
      Type.Union(
        [
          Type.Array(Type.String(), { minItems: 1 }),
          Type.Object(
            {
              fields: Type.Array(Type.String(), { minItems: 1 }),
              window: Type.Optional(Duration),
              on_repeat: Type.Optional(Type.Enum(['block', 'approve', 'replay'])),
            },
            closed,
          ),
        ],
        { expected: 'a list of input fields, or {fields, window, on_repeat}' },
      ),
    ),
    idempotency: Type.Optional(
      Type.Union(
        [
          Type.Enum(['none', 'natural', 'key-required']),
          Type.Object(
            {
              keyed: Type.Object(
                {
                  header: Type.Optional(Type.String()),
                  retention: Duration,
                  scope: Type.Optional(Type.Enum(['tool', 'credential'])),
                },
                closed,
              ),
            },
            closed,
          ),
        ],
        { expected: 'none, natural, key-required, or {keyed: {header, retention, scope}}' },
      ),
    ),
    status_query: Type.Optional(
      Type.Union(
        [
          Type.String({ minLength: 1 }),
          Type.Object(
            {
              ...namedOperation,
              output: Type.Optional(Type.String()),
              fencing: Type.Optional(Type.Boolean()),
              quiet: Type.Optional(Duration),
              deadline: Type.Optional(Duration),
            },
            closed,
          ),
        ],
        {
          expected:
            'the name of an operation, or {operation} or {method, url, state, done, not_done, running}',
        },
      ),
    ),
    refused_on: Type.Optional(Type.Array(Type.Integer({ minimum: 400, maximum: 599 }))),
    compensation: Type.Optional(
      Type.Union(
        [
          Type.String({ minLength: 1 }),
          Type.Object(
            {
              ...namedOperation,
              tool: Type.Optional(Type.String({ minLength: 1 })),
              input_map: Type.Optional(Type.Unsafe<JsonObject>({ type: 'object' })),
              requires_approval: Type.Optional(Type.Boolean()),
            },
            closed,
          ),
        ],
        { expected: 'none, the name of an operation, or {operation | tool | method and url, ...}' },
      ),
    ),
    two_phase: Type.Optional(
      Type.Object(
        {
          prepare: Type.Optional(NamedOperation),
          commit: NamedOperation,
          rollback: NamedOperation,
          deadline: Type.Optional(Duration),
        },
        closed,
      ),
    ),
  },
  closed,
)

export type EffectDeclaration = Type.Static<typeof EffectSchema>
