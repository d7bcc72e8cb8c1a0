// The Cedar schema that policies are checked against: generated from what the tools of a namespace declare.
import type { NamespaceDefinition, SchemaJson, TypeOfAttribute } from '@cedar-policy/cedar-wasm/nodejs'
import { OPERATION_CLASSES, type ResolvedOperation } from '../../resource/resolved-tool.ts'
import { actionEntity } from './cedar-scope.ts'
import { type CedarRecord, typeToJson } from './cedar-type.ts'

export const PRINCIPALS = ['Agent', 'Person', 'Service'] as const

/** An operation as policies see it. */
export interface SchemaOperation {
  readonly operation: Pick<ResolvedOperation, 'name' | 'classes'>
  readonly input: CedarRecord
}

type Attributes = Readonly<Record<string, TypeOfAttribute<string>>>

const TEXT = { type: 'String' } as const
const NUMBER = { type: 'Long' } as const
const TEXTS = { type: 'Set', element: TEXT } as const
const record = (attributes: Attributes) => ({ type: 'Record' as const, attributes: { ...attributes } })

const PRINCIPAL: Attributes = {
  id: TEXT,
  namespace: TEXT,
  roles: TEXTS,
  system: { ...TEXT, required: false },
  agent: { ...TEXT, required: false },
}

const RESOURCE: Attributes = {
  name: TEXT,
  version: TEXT,
  type: TEXT,
  owner: TEXT,
  risk: TEXT,
  capabilities: TEXTS,
  classification: TEXT,
  permission_class: { ...TEXT, required: false },
}

const TIME: Attributes = {
  at: { type: 'Extension', name: 'datetime' },
  unix_ms: NUMBER,
  hour: NUMBER,
  minute: NUMBER,
  weekday: NUMBER,
}

/**
 * Operations of one name share an action, so they have to share their input. `named` are actions that policies compare
 * with, and that nothing here is about.
 */
export function cedarSchema(
  operations: readonly SchemaOperation[],
  budgets: readonly string[],
  named: readonly string[] = [],
): SchemaJson<string> {
  const spend = record(Object.fromEntries(budgets.map((budget) => [budget, NUMBER])))
  const contextOf = (input: CedarRecord) =>
    record({
      input: typeToJson(input),
      time: record(TIME),
      spend,
      operation: TEXT,
      risk: TEXT,
      effect_class: TEXT,
      task: { ...TEXT, required: false },
    })
  const groups = [...OPERATION_CLASSES, ...named].map(
    (name): [string, NamespaceDefinition<string>['actions'][string]] => [name, {}],
  )
  const actions = new Map(groups)
  for (const { operation, input } of operations) {
    const { uid, parents } = actionEntity(operation)
    const memberOf = new Map(actions.get(uid.id)?.memberOf?.map((group) => [group.id, group]))
    for (const { id } of parents) memberOf.set(id, { id })
    const appliesTo = {
      principalTypes: [...PRINCIPALS],
      resourceTypes: ['Tool'],
      context: contextOf(input),
    }
    actions.set(uid.id, { memberOf: [...memberOf.values()], appliesTo })
  }
  const principal = { memberOfTypes: ['Role'], shape: record(PRINCIPAL) }
  return {
    Writ: {
      entityTypes: {
        Role: {},
        Tool: { shape: record(RESOURCE) },
        ...Object.fromEntries(PRINCIPALS.map((name) => [name, principal])),
      },
      actions: Object.fromEntries(actions),
    },
  }
}

/** Names of budgets, as policies read what they have taken. */
export function budgetNames(
  policies: readonly { readonly name: string; readonly budgets: readonly unknown[] }[],
): readonly string[] {
  return policies.flatMap(({ name, budgets }) => budgets.map((_, index) => `${name}#${index}`))
}
