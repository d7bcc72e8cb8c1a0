// The page that a link opens: small, without script, and readable by everything that reads HTML.
import { createHash } from 'node:crypto'
import type { Approval } from '../contract/approval.ts'
import { type ApprovalLink, LINK_PATH } from './approval-link.ts'
import type { LinkEnd } from './approval-link-door.ts'
import { describe } from './message.ts'
import { escapeHtml } from './visible.ts'

export interface Page {
  readonly status: number
  readonly html: string
}

const STYLE = `:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:0 auto;padding:1.5rem}
h1{font-size:1.4rem}h2{font-size:1.1rem}
table{border-collapse:collapse}th{text-align:left;vertical-align:top;padding:.15rem 1rem .15rem 0;font-weight:600}
td{overflow-wrap:anywhere}
pre{border:1px solid;padding:.75rem;white-space:pre-wrap;overflow-wrap:anywhere;max-height:24rem;overflow:auto}
textarea{font:inherit;width:100%;box-sizing:border-box;padding:.5rem}
button{font:inherit;font-weight:600;padding:.6rem 1.2rem;margin:1rem 1rem 0 0;border:2px solid;border-radius:.4rem;cursor:pointer}
.yes{background:#0b6b2c;border-color:#0b6b2c;color:#fff}.no{background:#a11212;border-color:#a11212;color:#fff}
:focus-visible{outline:3px solid #2a6df4;outline-offset:2px}`

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/** Nothing is loaded, nothing runs, nobody frames it, and its form goes back to where it came from. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  'x-frame-options': 'DENY',
  // The address is the secret: it goes to no other site.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'x-robots-tag': 'noindex',
} as const

export const MAX_COMMENT = 1000

/** With `problem`, the form came back with something missing. */
export function questionPage(link: ApprovalLink, approval: Approval, token: string, problem?: string): Page {
  const { tool, operation } = approval.binding
  const alert = problem === undefined ? '' : `<p role="alert"><strong>${escapeHtml(problem)}</strong></p>`
  const body = `${alert}<p>You decide as <strong>${escapeHtml(link.actor)}</strong>. Your decision is kept with your name. This link works once.</p>
${aboutHtml(approval)}
<form method="post" action="${escapeHtml(LINK_PATH + token)}">
<label for="comment">Comment, kept with the decision (needed to deny)</label>
<textarea id="comment" name="comment" rows="3" maxlength="${MAX_COMMENT}"></textarea>
<button class="yes" name="decision" value="approve">Approve</button>
<button class="no" name="decision" value="deny">Deny</button>
</form>`
  return page(problem === undefined ? 200 : 400, `May this be sent? ${tool} ${operation}`, body)
}

export function endPage(end: LinkEnd): Page {
  switch (end.kind) {
    case 'decided': {
      const { approval, decision } = end
      const word = decision === 'approved' ? 'approved' : 'denied'
      const rest =
        approval.state === 'pending' ? '<p>Others have to decide as well before it goes on.</p>' : ''
      return page(200, `You have ${word} it`, `${rest}${aboutHtml(approval)}`)
    }
    case 'used':
      return page(410, 'This link was used', `<p>A link decides once.</p>${stateHtml(end.approval)}`)
    case 'ended':
      return page(409, 'There is nothing to decide any more', stateHtml(end.approval))
    case 'expired':
      return page(410, 'The time to decide is over', '<p>Nothing was sent. Whoever asked can ask again.</p>')
    case 'withdrawn':
      return page(403, 'This link was withdrawn', '<p>Its approver no longer decides here.</p>')
    case 'unknown':
      return page(
        404,
        'This is no link of this server',
        '<p>Open it again from the message that it came in.</p>',
      )
    case 'refused': {
      const { id, message } = end.failure
      return NOT_NOW.includes(id)
        ? awayPage()
        : page(403, 'This does not count', `<p>${escapeHtml(message)}</p>`)
    }
  }
}

/** Faults of ours that pass. */
const NOT_NOW: readonly string[] = ['intent-not-recorded', 'policy-unavailable']

/** While nothing can be read or kept: the link is as good as before. */
export function awayPage(): Page {
  return page(503, 'Not now', '<p>Nothing was decided. Open the link again in a moment.</p>')
}

/** For what is wrong with the request itself. */
export function faultPage(status: number, title: string, what: string): Page {
  return page(status, title, `<p>${escapeHtml(what)}</p>`)
}

function stateHtml(approval: Approval): string {
  return `<p>The approval is <strong>${escapeHtml(approval.state)}</strong>.</p>${aboutHtml(approval)}`
}

function aboutHtml(approval: Approval): string {
  const { facts, reasons, input, asked } = describe(approval)
  const rows = facts.map(
    ([label, value]) => `<tr><th scope="row">${escapeHtml(label)}</th><td>${escapeHtml(value)}</td></tr>`,
  )
  const why = reasons.map((reason) => `<li>${escapeHtml(reason)}</li>`).join('')
  return [
    `<table><tbody>${rows.join('')}</tbody></table>`,
    why === '' ? '' : `<h2>Why somebody has to decide</h2><ul>${why}</ul>`,
    input === undefined
      ? '<p>The input is no longer kept.</p>'
      : `<h2>What would be sent</h2><pre tabindex="0">${escapeHtml(input)}</pre>`,
    asked === undefined
      ? ''
      : `<h2>What was asked for, before policy narrowed it</h2><pre tabindex="0">${escapeHtml(asked)}</pre>`,
  ].join('\n')
}

function page(status: number, title: string, body: string): Page {
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body><main><h1>${escapeHtml(title)}</h1>
${body}
</main></body></html>
`
  return { status, html }
}
