// Tells one channel one piece of news. When, how often and in which order is for whoever asks.
import type { ApprovalNews } from '../contract/approval-event.ts'
import type { Egress } from '../egress/egress.ts'
import type { World } from '../util/world.ts'
import type { ApprovalLinks } from './approval-link.ts'
import type { Channel } from './channel.ts'
import { type Delivery, post } from './delivery.ts'
import { sendMail } from './mail.ts'
import { messageOf } from './message.ts'
import { slackBody } from './slack.ts'
import { teamsBody } from './teams.ts'
import { type ApproverLink, webhookBody, webhookHeaders } from './webhook.ts'

export interface Notifier {
  readonly channels: readonly Channel[]
  /** Undefined where this process has no such channel. */
  deliver(channel: string, news: ApprovalNews): Promise<Delivery | undefined>
}

export interface NotifierOptions {
  readonly world: Pick<World, 'clock' | 'after'>
  readonly egress: Egress
  readonly channels: readonly Channel[]
  /** Absent: nobody gets a link. */
  readonly links?: ApprovalLinks
}

export function createNotifier({ world, egress, channels, links }: NotifierOptions): Notifier {
  const now = () => world.clock.now()

  /** Only while there is something to decide. */
  function linksOf({ target, approvers }: Channel, { id, approval }: ApprovalNews): readonly ApproverLink[] {
    if (links === undefined || approval.state !== 'pending') return []
    const { namespace, id: approvalId, expiresAt } = approval
    return approvers.map(({ actor, roles }) => ({
      actor,
      url: links.make({ namespace, approvalId, target, actor, roles, expiresAt }, `${id}\n${target}`),
    }))
  }

  async function tell(channel: Channel, news: ApprovalNews): Promise<Delivery> {
    const made = linksOf(channel, news)
    if (channel.type === 'webhook') {
      const { url, secret } = channel
      const body = webhookBody(news, made)
      return post(egress, now, { url, body, headers: webhookHeaders(news.id, body, secret, now()) })
    }
    const message = messageOf(news)
    const link = made[0]?.url
    const { approval } = news
    const hint =
      approval.state === 'pending'
        ? `Decide with: writ approve ${approval.id} (or writ deny)`
        : `It is ${approval.state}: there is nothing to decide.`
    if (channel.type === 'email') return sendMail(world, egress, channel, news, message, link, hint)
    const body = channel.type === 'slack' ? slackBody(message, link, hint) : teamsBody(message, link, hint)
    return post(egress, now, { url: channel.url, body: JSON.stringify(body) })
  }

  return {
    channels,
    async deliver(name, news) {
      const channel = channels.find((one) => one.name === name)
      return channel && tell(channel, news)
    },
  }
}
