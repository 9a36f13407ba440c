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
      { text: 'The first book in five minutes', link: '/guide/first-book' },
      { text: 'The first customer, with a real venue', link: '/guide/first-customer' },
      { text: 'The first ten minutes with the REST API', link: '/guide/first-ten-minutes' },
      { text: 'The first deposit', link: '/guide/first-deposit' },
    ],
  },
  {
    text: 'How-to guides',
    items: [
      {
        text: 'Clients of the service',
        collapsed: true,
        items: [
          { text: 'Write a client', link: '/guide/clients' },
          { text: 'Test your client', link: '/guide/test-your-client' },
          { text: 'Show a live book on your page', link: '/guide/book-on-your-page' },
        ],
      },
      {
        text: 'Market data',
        collapsed: true,
        items: [
          { text: 'Feed your own order book', link: '/feeding-your-own-book' },
          { text: 'Test your publisher', link: '/guide/test-your-publisher' },
          { text: 'Write an adapter', link: '/writing-an-adapter' },
          { text: 'Record, replay and export', link: '/recordings' },
        ],
      },
      {
        text: 'Money',
        collapsed: true,
        items: [
          { text: 'Set up keys for deposit addresses', link: '/custody' },
          { text: 'Execute deliveries', link: '/deliveries' },
        ],
      },
      {
        text: 'Operation',
        collapsed: true,
        items: [
          { text: 'Install on one machine', link: '/guide/production' },
          { text: 'Use containers', link: '/guide/containers' },
          { text: 'Use Kubernetes', link: '/guide/kubernetes' },
          { text: 'Give operators roles and tokens', link: '/guide/operators' },
          { text: 'Use the console', link: '/guide/console' },
          { text: 'Back up and restore', link: '/guide/backup' },
          { text: 'Upgrade and roll back', link: '/guide/upgrading' },
          { text: 'Choose the size of a machine', link: '/guide/sizing' },
          { text: 'Collect traces', link: '/tracing' },
        ],
      },
      {
        text: 'Changes of the program',
        collapsed: true,
        items: [
          { text: 'Add a venue', link: '/adding-a-venue' },
          { text: 'Add a stream channel', link: '/adding-a-channel' },
          { text: 'Add an endpoint', link: '/adding-an-endpoint' },
          { text: 'Run the tests', link: '/testing' },
        ],
      },
    ],
  },
  {
    text: 'Reference',
    items: [
      { text: 'The stream', link: '/reference/stream' },
      { text: 'The extended protocol', link: '/extended-stream' },
      { text: 'REST API', link: '/reference/rest' },
      { text: 'Operator API', link: '/reference/operator-api' },
      { text: 'Command line', link: '/reference/command-line' },
      { text: 'Settings', link: '/reference/configuration' },
      { text: 'Errors', link: '/reference/errors' },
      { text: 'Metrics and alerts', link: '/monitoring/README' },
      { text: 'Limits', link: '/limits' },
      { text: 'Dependencies', link: '/dependencies' },
    ],
  },
  {
    text: 'Explanation',
    items: [
      { text: 'How it works', link: '/how-it-works' },
      { text: 'Comparison', link: '/comparison' },
      { text: 'Lagging subscribers', link: '/slow-readers' },
      { text: 'Aggregated books', link: '/aggregated-books' },
      { text: 'Receipts', link: '/receipts' },
      { text: 'Deposits', link: '/deposits' },
      { text: 'Prices of conversions', link: '/conversions' },
      { text: 'The ledger', link: '/ledger' },
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
