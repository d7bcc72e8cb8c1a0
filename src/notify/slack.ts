// A Slack message in Block Kit. Every text is a plain element of rich text: Slack reads no markup in those, so what a
// model wrote cannot become a link, a mention or a button.
import type { Json, JsonObject } from '../util/json.ts'
import type { Message } from './message.ts'
import { cutText, visibleLine } from './visible.ts'

/** Slack refuses a message whose header or text is longer. */
const MOST_TITLE = 150
const MOST_INPUT = 2500

export function slackBody(message: Message, link: string | undefined, hint: string): JsonObject {
  const facts = message.facts.map(([label, value]) => section(bold(`${label}: `), text(value)))
  const reasons = message.reasons.map((reason) => section(text(`• ${reason}`)))
  const elements: Json[] = [...facts, ...reasons, ...block('Input', message.input)]
  elements.push(...block('Asked for, before policy narrowed it', message.asked))
  elements.push(
    link === undefined ? section(text(hint)) : section({ type: 'link', url: link, text: 'Look and decide' }),
  )
  return {
    // Shown in notifications, and read as markup: the three marks that Slack gives a meaning are escaped.
    text: slackEscape(message.title),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      {
        type: 'header',
        text: { type: 'plain_text', text: visibleLine(message.title, MOST_TITLE), emoji: false },
      },
      { type: 'rich_text', elements },
    ],
  }
}

function block(label: string, value: string | undefined): Json[] {
  if (value === undefined) return []
  const elements = [text(cutText(value, MOST_INPUT))]
  return [section(bold(label)), { type: 'rich_text_preformatted', elements }]
}

function section(...elements: Json[]): JsonObject {
  return { type: 'rich_text_section', elements }
}

function text(value: string): JsonObject {
  return { type: 'text', text: value === '' ? ' ' : value }
}

function bold(value: string): JsonObject {
  return { ...text(value), style: { bold: true } }
}

function slackEscape(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
