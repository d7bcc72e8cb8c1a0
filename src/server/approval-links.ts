// The page behind a link that decides an approval. Looking never decides: programs that preview links only look.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ApprovalLinkDoor } from '../notify/approval-link-door.ts'
import {
  awayPage,
  endPage,
  faultPage,
  MAX_COMMENT,
  PAGE_HEADERS,
  type Page,
  questionPage,
} from '../notify/approval-page.ts'
import { CallerGone, readBody } from './body.ts'
import type { Route } from './edge.ts'
import { parameter } from './openapi-parts.ts'
import { Refusal } from './refusal.ts'
import { refusalOf } from './unexpected.ts'

export interface ApprovalLinkPages {
  readonly door: ApprovalLinkDoor
  /** What people reach this server by: forms come from there and from nowhere else. */
  readonly publicUrl: string
}

const MAX_FORM_BYTES = 16 * 1024
const TOKEN = parameter('path', 'token', 'The signed token of the link.')
const PAGE = { content: { 'text/html': { schema: { type: 'string' } } } }
const RESPONSES = {
  403: { description: 'The approver may not decide, or the form came from elsewhere.', ...PAGE },
  404: { description: 'No link of this server.', ...PAGE },
  409: { description: 'The approval has ended.', ...PAGE },
  410: { description: 'The link was used, or its time is over.', ...PAGE },
  503: { description: 'Nothing can be read or kept for the time being.', ...PAGE },
}

/** A server that makes no links knows none. */
const NO_LINKS: ApprovalLinkPages = {
  door: { look: async () => ({ kind: 'unknown' }), decide: async () => ({ kind: 'unknown' }) },
  publicUrl: 'http://localhost',
}

export function approvalLinkRoutes(pages: ApprovalLinkPages = NO_LINKS): readonly Route[] {
  const { door } = pages
  const { origin } = new URL(pages.publicUrl)
  return [
    {
      method: 'GET',
      path: '/v1/approval-links/{token}',
      access: 'anyone',
      whileDraining: false,
      handle: ({ reply, params }) =>
        answer(reply, async () => {
          const token = params.token ?? ''
          const view = await door.look(token)
          return view.kind === 'open' ? questionPage(view.link, view.approval, token) : endPage(view)
        }),
      doc: {
        operationId: 'showApprovalLink',
        summary: 'The page of a link that decides an approval',
        description: 'For people, from a notification. It only shows: nothing is decided by opening it.',
        tags: ['approvals'],
        parameters: [TOKEN],
        responses: { 200: { description: 'What is to be decided, and a form.', ...PAGE }, ...RESPONSES },
      },
    },
    {
      method: 'POST',
      path: '/v1/approval-links/{token}',
      access: 'anyone',
      whileDraining: false,
      handle: ({ request, reply, params }) =>
        answer(reply, async () => {
          if (isFromElsewhere(request, origin)) {
            const what = 'Open the link of the message itself, and decide on the page that it shows.'
            return faultPage(403, 'This came from another page', what)
          }
          const form = await readForm(request)
          if (typeof form === 'string') return faultPage(400, 'That could not be read', form)
          const token = params.token ?? ''
          if (form.decision === 'approved' || form.comment !== '')
            return endPage(await door.decide(token, form.decision, form.comment))
          const view = await door.look(token)
          const why = 'To deny it, say why: whoever asked is told.'
          return view.kind === 'open' ? questionPage(view.link, view.approval, token, why) : endPage(view)
        }),
      doc: {
        operationId: 'decideByLink',
        summary: 'Decide an approval by its link, once',
        tags: ['approvals'],
        parameters: [TOKEN],
        requestBody: {
          required: true,
          content: {
            'application/x-www-form-urlencoded': {
              schema: {
                type: 'object',
                required: ['decision'],
                properties: {
                  decision: { enum: ['approve', 'deny'] },
                  comment: { type: 'string', maxLength: MAX_COMMENT },
                },
                additionalProperties: false,
              },
            },
          },
        },
        responses: {
          200: { description: 'Decided.', ...PAGE },
          400: { description: 'The form could not be read.', ...PAGE },
          ...RESPONSES,
        },
      },
    },
  ]
}

/** A browser says where a form comes from. What says nothing is no browser, and has the token all the same. */
function isFromElsewhere({ headers }: FastifyRequest, origin: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  return headers.origin !== undefined && headers.origin !== origin
}

interface Form {
  readonly decision: 'approved' | 'denied'
  readonly comment: string
}

async function readForm(request: FastifyRequest): Promise<Form | string> {
  let bytes: Buffer
  try {
    bytes = await readBody(request, 'form', MAX_FORM_BYTES)
  } catch (error) {
    if (error instanceof Refusal) return error.message
    throw error
  }
  const form = new URLSearchParams(bytes.toString('utf8'))
  for (const name of form.keys()) {
    if ((name !== 'decision' && name !== 'comment') || form.getAll(name).length > 1)
      return 'The form has a field that it should not have.'
  }
  const decision = form.get('decision')
  if (decision !== 'approve' && decision !== 'deny') return 'The form says neither approve nor deny.'
  const comment = (form.get('comment') ?? '').replaceAll('\r\n', '\n').trim()
  if (comment.length > MAX_COMMENT) return `The comment is longer than ${MAX_COMMENT} characters.`
  return { decision: decision === 'approve' ? 'approved' : 'denied', comment }
}

/** People get a page also where the store is away; every other fault is answered as everywhere. */
async function answer(reply: FastifyReply, make: () => Promise<Page>): Promise<void> {
  let made: Page
  try {
    made = await make()
  } catch (error) {
    if (error instanceof CallerGone || refusalOf(error).failure !== 'intent-not-recorded') throw error
    made = awayPage()
  }
  reply.code(made.status).headers(PAGE_HEADERS).send(made.html)
}
