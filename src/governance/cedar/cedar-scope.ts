// Whether the scope of a Cedar policy, its head, can match a call: what cannot is left out of the slice.
import type { EntityUidJson, PolicyJson, TypeAndId } from '@cedar-policy/cedar-wasm/nodejs'
import { OPERATION_CLASSES, type ResolvedOperation } from '../../resource/resolved-tool.ts'

/** An entity, with all that it is in. */
export interface Member {
  readonly uid: TypeAndId
  readonly parents: readonly TypeAndId[]
}

export const ROLE = 'Writ::Role'
export const TOOL = 'Writ::Tool'
export const ACTION = 'Writ::Action'

export function toolEntity(name: string): Member {
  return { uid: { type: TOOL, id: name }, parents: [] }
}

/** An operation, in a group for each of its classes. */
export function actionEntity({ name, classes }: Pick<ResolvedOperation, 'name' | 'classes'>): Member {
  const parents = classes.filter((one) => one !== name).map((id) => ({ type: ACTION, id }))
  return { uid: { type: ACTION, id: actionId(name, classes) }, parents }
}

/** An operation that has the name of a class which it is not of must not be taken for that class. */
function actionId(name: string, classes: readonly string[]): string {
  const misnamed = (OPERATION_CLASSES as readonly string[]).includes(name) && !classes.includes(name)
  return misnamed ? `operation:${name}` : name
}

export function matchesPrincipal({ principal }: PolicyJson, member: Member): boolean {
  return matchesEntity(principal, member)
}

export function matchesResource({ resource }: PolicyJson, member: Member): boolean {
  return matchesEntity(resource, member)
}

export function matchesAction({ action }: PolicyJson, member: Member): boolean {
  if (action.op === 'All') return true
  if (action.op === '==') return 'entity' in action ? same(member.uid, action.entity) : true
  const groups = 'entities' in action ? action.entities : [action.entity]
  return groups.some((group) => isIn(member, group))
}

function matchesEntity(constraint: PolicyJson['principal'], member: Member): boolean {
  switch (constraint.op) {
    case '==':
      return 'entity' in constraint ? same(member.uid, constraint.entity) : true
    case 'in':
      return 'entity' in constraint ? isIn(member, constraint.entity) : true
    case 'is': {
      const { in: group } = constraint
      if (constraint.entity_type !== member.uid.type) return false
      return group === undefined || !('entity' in group) || isIn(member, group.entity)
    }
    default:
      return true
  }
}

function isIn(member: Member, group: EntityUidJson): boolean {
  return same(member.uid, group) || member.parents.some((parent) => same(parent, group))
}

function same(one: TypeAndId, other: EntityUidJson): boolean {
  const { type, id } = plain(other)
  return one.type === type && one.id === id
}

function plain(uid: EntityUidJson): TypeAndId {
  return '__entity' in uid ? uid.__entity : uid
}

/** Every entity that a policy names, in its scope and in its conditions. */
export function namedEntities(json: PolicyJson): readonly TypeAndId[] {
  const found = new Map<string, TypeAndId>()
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, id } = node as Partial<TypeAndId>
    if (typeof type === 'string' && typeof id === 'string') found.set(`${type} ${id}`, { type, id })
    else for (const child of Object.values(node)) visit(child)
  }
  visit([json.principal, json.action, json.resource, json.conditions])
  return [...found.values()]
}
