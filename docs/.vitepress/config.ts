/** The documentation site: `npm run docs:site` builds it into `build/docs-site`. It requests nothing from other origins. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { DefaultTheme, UserConfig } from 'vitepress'
import { dashboard } from '../../scripts/grafana-dashboard.mjs'
import { adaptToSite, fragmentOf } from './repository-links.ts'
import { SIDEBAR } from './sidebar.ts'

const ROOT = join(import.meta.dirname, '../..')
const ICON = readFileSync(join(ROOT, 'packages/console/icon.svg'), 'utf8')

const config: UserConfig<DefaultTheme.Config> = {
  title: 'Tidegate',
  description: 'Live order books for authenticated customers, and what happens to their deposits.',
  lang: 'en',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  outDir: join(ROOT, 'build/docs-site'),
  cacheDir: join(ROOT, 'build/docs-cache'),
  markdown: { config: adaptToSite, anchor: { slugify: fragmentOf }, toc: { slugify: fragmentOf } },
  themeConfig: {
    nav: [
      { text: 'Tutorial', link: '/tutorials/first-book' },
      { text: 'Reference', link: '/reference/stream' },
      { text: 'How it works', link: '/explanation/how-it-works' },
    ],
    sidebar: SIDEBAR,
    outline: [2, 3],
    search: { provider: 'local' },
    externalLinkIcon: true,
  },
  // Documents for programs: OpenAPI, alert rules, and the dashboard, which is generated.
  buildEnd({ srcDir, outDir }) {
    cpSync(srcDir, outDir, {
      recursive: true,
      filter: (source) => !/\/\.vitepress$|\.md$|\.svg$|\.png$/.test(source) && source !== dirname(srcDir),
    })
    writeFileSync(join(outDir, 'grafana-dashboard.json'), JSON.stringify(dashboard(), null, 2))
  },
}

export default config
