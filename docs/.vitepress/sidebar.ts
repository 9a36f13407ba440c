/**
 * The navigation of the documentation site: every page of `docs/` once, by what the reader wants (Diátaxis): to learn, to
 * do something, to look something up, to understand. The folders of decisions and of measurements are listed as they are.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface SidebarGroup {
  text: string
  collapsed?: boolean
  items: (SidebarLink | SidebarGroup)[]
}

export interface SidebarLink {
  text: string
  /** Path of the page from `docs/`, with a slash in front and without `.md`. */
  link: string
}

const DOCS = join(import.meta.dirname, '..')

export const SIDEBAR: SidebarGroup[] = [
  {
    text: 'Tutorials',
    items: [
      { text: 'The first book in five minutes', link: '/tutorials/first-book' },
      { text: 'The first customer, with a real venue', link: '/tutorials/first-customer' },
      { text: 'The first ten minutes with the REST API', link: '/tutorials/first-ten-minutes' },
      { text: 'The first deposit', link: '/tutorials/first-deposit' },
    ],
  },
  {
    text: 'How-to guides',
    items: [
      {
        text: 'Clients of the service',
        collapsed: true,
        items: [
          { text: 'Write a client', link: '/how-to/clients' },
          { text: 'Test your client', link: '/how-to/test-your-client' },
          { text: 'Show a live book on your page', link: '/how-to/book-on-your-page' },
        ],
      },
      {
        text: 'Market data',
        collapsed: true,
        items: [
          { text: 'Read the books of exchanges', link: '/how-to/venues' },
          { text: 'Feed your own order book', link: '/how-to/feeding-your-own-book' },
          { text: 'Test your publisher', link: '/how-to/test-your-publisher' },
          { text: 'Write an adapter', link: '/how-to/writing-an-adapter' },
          { text: 'Record, replay and export', link: '/how-to/recordings' },
          { text: 'Read candles and tickers', link: '/how-to/candles' },
        ],
      },
      {
        text: 'Money',
        collapsed: true,
        items: [
          { text: 'Set up keys for deposit addresses', link: '/how-to/custody' },
          { text: 'Execute deliveries', link: '/how-to/deliveries' },
          { text: 'Restrict destinations', link: '/how-to/destinations' },
          { text: 'Screen deposits and payments', link: '/how-to/screening' },
          { text: 'Notify security contacts', link: '/how-to/notices' },
          { text: 'Receive events by webhooks', link: '/how-to/webhooks' },
        ],
      },
      {
        text: 'Operation',
        collapsed: true,
        items: [
          { text: 'Install on one machine', link: '/how-to/production' },
          { text: 'Use containers', link: '/how-to/containers' },
          { text: 'Use Kubernetes', link: '/how-to/kubernetes' },
          { text: 'Monitor: readiness and alerts', link: '/how-to/monitoring/README' },
          { text: 'Give operators roles and tokens', link: '/how-to/operators' },
          { text: 'Plans and usage', link: '/how-to/plans' },
          { text: 'Use the console', link: '/how-to/console' },
          { text: 'Back up and restore', link: '/how-to/backup' },
          { text: 'Upgrade and roll back', link: '/how-to/upgrading' },
          { text: 'Choose the size of a machine', link: '/how-to/sizing' },
          { text: 'Collect traces', link: '/how-to/tracing' },
        ],
      },
      {
        text: 'Changes of the program',
        collapsed: true,
        items: [
          { text: 'Add a venue', link: '/how-to/adding-a-venue' },
          { text: 'Add a stream channel', link: '/how-to/adding-a-channel' },
          { text: 'Add an endpoint', link: '/how-to/adding-an-endpoint' },
          { text: 'Run the tests', link: '/how-to/testing' },
        ],
      },
    ],
  },
  {
    text: 'Reference',
    items: [
      { text: 'The stream', link: '/reference/stream' },
      { text: 'The extended protocol', link: '/reference/extended-stream' },
      { text: 'REST API', link: '/reference/rest' },
      { text: 'Operator API', link: '/reference/operator-api' },
      { text: 'Command line', link: '/reference/command-line' },
      { text: 'Settings', link: '/reference/configuration' },
      { text: 'Errors', link: '/reference/errors' },
      { text: 'Metrics', link: '/reference/metrics' },
      { text: 'Limits', link: '/reference/limits' },
      { text: 'Dependencies', link: '/reference/dependencies' },
    ],
  },
  {
    text: 'Explanation',
    items: [
      { text: 'How it works', link: '/explanation/how-it-works' },
      { text: 'Comparison', link: '/explanation/comparison' },
      { text: 'Lagging subscribers', link: '/explanation/slow-readers' },
      { text: 'Aggregated books', link: '/explanation/aggregated-books' },
      { text: 'Receipts', link: '/explanation/receipts' },
      { text: 'Deposits', link: '/explanation/deposits' },
      { text: 'Prices of conversions', link: '/explanation/conversions' },
      { text: 'The ledger', link: '/explanation/ledger' },
      { text: 'Decisions', collapsed: true, items: pagesOf('decisions') },
      { text: 'Measurements', collapsed: true, items: pagesOf('measurements') },
    ],
  },
]

/** The pages of a folder by name, each with its heading. */
function pagesOf(folder: string): SidebarLink[] {
  return readdirSync(join(DOCS, folder))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => {
      const [, heading = name] = /^# (?:\d+\. )?(.*)$/m.exec(readFileSync(join(DOCS, folder, name), 'utf8')) ?? []
      const number = /^\d+/.exec(name)?.[0]
      const text = number === undefined ? heading : `${Number(number)}. ${heading}`
      return { text, link: `/${folder}/${name.slice(0, -'.md'.length)}` }
    })
}
