// A call as Cedar is asked about it: entities, and as much of the context as the policies read.
import type { CedarValueJson, EntityJson } from '@cedar-policy/cedar-wasm/nodejs'
import { type ActorKind, kindOf } from '../../contract/caller.ts'
import type { ResolvedRole } from '../../resource/resolved-governance.ts'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import type { Facts } from '../rules.ts'
import type { Request } from './cedar-engine.ts'
import { type CedarReads, readsAttribute, readsField } from './cedar-reads.ts'
import { actionEntity, type Member, ROLE, toolEntity } from './cedar-scope.ts'
import { type CedarRecord, MAX_VALUES, toCedar } from './cedar-type.ts'

const TYPES: Readonly<Record<ActorKind, string>> = Object.freeze({
  agent: 'Writ::Agent',
  person: 'Writ::Person',
  service: 'Writ::Service',
})

/** Who calls, in each of its roles and in those that they inherit from. */
export function principalEntity(facts: Facts, roles: ReadonlyMap<string, ResolvedRole>): Member {
  const { caller } = facts
  // A set that grows while it is walked: every role once, so a circle ends.
  const reached = new Set(caller.roles)
  for (const name of reached) for (const inherited of roles.get(name)?.inherits ?? []) reached.add(inherited)
  const parents = [...reached].map((id) => ({ type: ROLE, id }))
  return { uid: { type: TYPES[kindOf(caller)], id: caller.actor }, parents }
}

export interface Asked {
  readonly request: Request
  /** Fields that are read and whose values Cedar cannot hold exactly; they are not in the request. */
  readonly unjudged: readonly string[]
}

export function toRequest(
  facts: Facts,
  principal: Member,
  input: CedarRecord,
  budgets: readonly string[],
  reads: readonly CedarReads[],
): Asked {
  const { caller, tool, operation, agent } = facts
  const action = actionEntity(operation)
  const resource = toolEntity(tool.name)
  const unjudged: string[] = []
  const wanted = (attribute: string) => reads.some((one) => readsAttribute(one, attribute))
  const context: Record<string, CedarValueJson> = {
    operation: operation.name,
    risk: tool.riskLevel,
    effect_class: operation.effect.class,
  }
  if (facts.taskId !== undefined) context.task = facts.taskId
  if (wanted('time')) context.time = timeOf(facts.now)
  if (wanted('spend')) {
    context.spend = Object.fromEntries(budgets.map((name) => [name, facts.spent?.get(name) ?? 0]))
  }
  if (wanted('input')) {
    const values: JsonObject = isJsonObject(facts.input) ? facts.input : {}
    const entries: [string, CedarValueJson][] = []
    const allowance = { left: MAX_VALUES }
    for (const [name, { type, required }] of input.fields) {
      if (!reads.some((one) => readsField(one, name))) continue
      const value = Object.hasOwn(values, name) ? values[name] : undefined
      if (!required && (value === undefined || value === null)) continue
      const converted = toCedar(value, type, allowance)
      if (converted === undefined) unjudged.push(name)
      else entries.push([name, converted])
    }
    context.input = Object.fromEntries(entries)
  }
  const entities: EntityJson[] = [
    {
      uid: principal.uid,
      parents: [...principal.parents],
      attrs: {
        id: caller.actor,
        namespace: caller.namespace,
        roles: principal.parents.map(({ id }) => id),
        ...(caller.system === undefined ? {} : { system: caller.system }),
        ...(agent === undefined ? {} : { agent }),
      },
    },
    { uid: action.uid, parents: [...action.parents], attrs: {} },
    {
      uid: resource.uid,
      parents: [],
      attrs: {
        name: tool.name,
        version: tool.version,
        type: tool.type,
        owner: tool.owner,
        risk: tool.riskLevel,
        capabilities: [...tool.capabilities],
        classification: tool.dataClassification,
        ...(tool.permissionClass === undefined ? {} : { permission_class: tool.permissionClass }),
      },
    },
  ]
  const request = {
    principal: principal.uid,
    action: action.uid,
    resource: resource.uid,
    context,
    entities,
  }
  return { request, unjudged }
}

/** In UTC; the week begins on Monday, which is 1. */
function timeOf(now: number): CedarValueJson {
  const at = new Date(now)
  return {
    at: { __extn: { fn: 'datetime', arg: at.toISOString() } },
    unix_ms: Math.floor(now),
    hour: at.getUTCHours(),
    minute: at.getUTCMinutes(),
    weekday: at.getUTCDay() === 0 ? 7 : at.getUTCDay(),
  }
}
