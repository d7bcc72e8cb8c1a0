// The namespace of a call, which its body may name as well as its headers.
import type { Caller } from '../contract/caller.ts'
import { isNamespace } from '../resource/name.ts'
import { refuseNamespace } from './auth.ts'

/** The admin may name the namespace in the body, too; a call is found again where it ran. */
export function inNamespaceOf(call: { readonly namespace?: string }, caller: Caller): Caller {
  const { namespace } = call
  return caller.admin && namespace !== undefined && isNamespace(namespace) ? { ...caller, namespace } : caller
}

/** What the header or the query says and what the body says must be one namespace; neither wins silently. */
export function refuseTwoNamespaces(call: { readonly namespace?: string }, asked: string | undefined): void {
  const { namespace } = call
  if (asked === undefined || namespace === undefined || asked === namespace) return
  throw refuseNamespace(
    'The request and its body name two namespaces.',
    'Send one of the two, or the same in both.',
  )
}
