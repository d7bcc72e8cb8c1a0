// How a call is found by the id in a path, and shown as a resource.
import type { FastifyReply } from 'fastify'
import { encodeCallResource } from '../contract/dialect/call-resource.ts'
import type { ShownCall } from '../contract/shown-call.ts'
import { isUuid } from '../util/uuid.ts'
import type { Exchange } from './edge.ts'
import { Refusal } from './refusal.ts'
import { sendJson, setCommitBy } from './reply.ts'

/** The id in the path, or a refusal: what is no id names no call. */
export function callIdOf({ params }: Exchange): string {
  const id = params.id ?? ''
  if (!isUuid(id)) throw callUnknown()
  return id.toLowerCase()
}

export function callUnknown(): Refusal {
  return new Refusal({
    failure: 'envelope-invalid',
    status: 404,
    message: 'No such call in this namespace that the caller may see.',
    fix: 'Check the id and the namespace; GET /v1/calls?request_id= finds a call by the id its caller chose.',
    details: { violations: [{ path: '/path/id', message: 'is no call that the caller may see' }] },
  })
}

export function sendRecord(reply: FastifyReply, status: number, record: ShownCall): void {
  reply.header('writ-call-id', record.id)
  setCommitBy(reply, record.answer?.commitBy)
  sendJson(reply, status, encodeCallResource(record))
}

/** Names the namespace where a request without one would look elsewhere. */
export function locationOf(id: string, namespace: string): string {
  return `/v1/calls/${id}${namespace === 'default' ? '' : `?namespace=${encodeURIComponent(namespace)}`}`
}
