// Links that decide an approval: each for one approver, one approval and a short time, signed and used once.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { isJsonObject, type Json } from '../util/json.ts'

export interface ApprovalLink {
  /** Nobody can guess it; kept with the approval once it is used. */
  readonly id: string
  readonly namespace: string
  readonly approvalId: string
  /** Of the file of targets: who is taken out of it there has no link any more. */
  readonly target: string
  readonly actor: string
  readonly roles: readonly string[]
  readonly expiresAt: number
}

export type ReadLink =
  | { readonly kind: 'link'; readonly link: ApprovalLink }
  | { readonly kind: 'forged' }
  | { readonly kind: 'expired'; readonly link: ApprovalLink }

export interface ApprovalLinks {
  /**
   * The address to open. `about` names what it is made for: the same about the same gives the same link, so that news
   * which are told again hold no second one.
   */
  make(link: Omit<ApprovalLink, 'id'>, about: string): string
  read(token: string, now: number): ReadLink
}

export const LINK_PATH = '/v1/approval-links/'
const MAX_TOKEN = 2048
const PURPOSE = 'writ approval link 1\n'
const ID_PURPOSE = 'writ approval link id 1\n'

export function createApprovalLinks(key: string, publicUrl: string): ApprovalLinks {
  const macOf = (purpose: string, text: string) =>
    createHmac('sha256', key)
      .update(purpose + text)
      .digest()

  return {
    make(link, about) {
      // A code of the key over what it is made for: as good as chance to everybody without the key.
      const id = macOf(ID_PURPOSE, JSON.stringify([about, link.actor]))
        .toString('base64url')
        .slice(0, 22)
      const { namespace, approvalId, target, actor, roles, expiresAt } = link
      const text = JSON.stringify([id, namespace, approvalId, target, actor, roles, expiresAt])
      const body = Buffer.from(text).toString('base64url')
      const token = `${body}.${macOf(PURPOSE, body).toString('base64url')}`
      return publicUrl.replace(/\/$/, '') + LINK_PATH + token
    },

    read(token, now) {
      const [body, mac, ...rest] = token.length <= MAX_TOKEN ? token.split('.') : []
      if (body === undefined || mac === undefined || rest.length > 0) return { kind: 'forged' }
      const given = Buffer.from(mac, 'base64url')
      const real = macOf(PURPOSE, body)
      // One way to write it, too: else a link could be used once in each of several spellings.
      if (
        given.length !== real.length ||
        !timingSafeEqual(given, real) ||
        given.toString('base64url') !== mac
      )
        return { kind: 'forged' }
      const link = linkOf(Buffer.from(body, 'base64url').toString('utf8'))
      if (link === undefined) return { kind: 'forged' }
      return link.expiresAt <= now ? { kind: 'expired', link } : { kind: 'link', link }
    },
  }
}

/** What a key of ours has signed is of our making; of another version of it, perhaps. */
function linkOf(text: string): ApprovalLink | undefined {
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch {
    return undefined
  }
  if (!Array.isArray(value) || value.length !== 7 || value.some((one) => isJsonObject(one))) return undefined
  const [id, namespace, approvalId, target, actor, roles, expiresAt] = value as readonly Json[]
  if (
    typeof id !== 'string' ||
    typeof namespace !== 'string' ||
    typeof approvalId !== 'string' ||
    typeof target !== 'string' ||
    typeof actor !== 'string' ||
    typeof expiresAt !== 'number' ||
    !Array.isArray(roles) ||
    !roles.every((role) => typeof role === 'string')
  )
    return undefined
  return { id, namespace, approvalId, target, actor, roles, expiresAt }
}
