// A Teams message: an Adaptive Card. Text blocks of a card read Markdown, runs of a rich text block do not; so all text
// of others is in runs, and cannot become a link or a button.
import type { Json, JsonObject } from '../util/json.ts'
import type { Message } from './message.ts'
import { cutText } from './visible.ts'

/** Teams refuses a card of more than 28 KiB. */
const MOST_INPUT = 4000
const MOST_LINES = 60

export function teamsBody(message: Message, link: string | undefined, hint: string): JsonObject {
  const body: Json[] = [
    block({ ...run(message.title), weight: 'Bolder', size: 'Large' }),
    ...message.facts.map(([label, value]) => block({ ...run(`${label}: `), weight: 'Bolder' }, run(value))),
    ...message.reasons.map((reason) => block(run(`• ${reason}`))),
    ...code('Input', message.input),
    ...code('Asked for, before policy narrowed it', message.asked),
    ...(link === undefined ? [block(run(hint))] : []),
  ]
  const card = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body,
    ...(link === undefined
      ? {}
      : { actions: [{ type: 'Action.OpenUrl', title: 'Look and decide', url: link }] }),
  }
  return {
    type: 'message',
    attachments: [
      { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: card },
    ],
  }
}

function code(label: string, value: string | undefined): Json[] {
  if (value === undefined) return []
  return [
    block({ ...run(label), weight: 'Bolder' }),
    ...cutText(value, MOST_INPUT, MOST_LINES)
      .split('\n')
      .map((line) => block({ ...run(line === '' ? ' ' : line), fontType: 'Monospace' })),
  ]
}

function block(...inlines: Json[]): JsonObject {
  return { type: 'RichTextBlock', inlines }
}

/** Cards replace `{{DATE(…)}}`, `{{TIME(…)}}` and `${…}` in any text: the marks are parted. */
function run(text: string): JsonObject {
  return { type: 'TextRun', text: text.replace(/\{(?=\{)|\$(?=\{)/g, '$&\u200b') }
}
