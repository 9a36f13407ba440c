/** The pages by path. */
import { type PageContent, type Route, record } from './base/page-route.ts'
import { AuditPage } from './pages/audit.tsx'
import { ClientPage } from './pages/client.tsx'
import { ConnectionPage } from './pages/connection.tsx'
import { ControlsPage } from './pages/controls.tsx'
import { CustomerPage, CustomersPage } from './pages/customer.tsx'
import { DeliveryPage } from './pages/delivery.tsx'
import { DepositPage } from './pages/deposit.tsx'
import { DeskPage } from './pages/desk.tsx'
import { DoctorPage } from './pages/doctor.tsx'
import { LedgerEntriesPage } from './pages/ledger-entries.tsx'
import { MarketPage } from './pages/market.tsx'
import { MarketsPage } from './pages/markets.tsx'
import { DeliveriesPage, DepositsPage, OrchestrationsPage } from './pages/money.tsx'
import { OperatorPage } from './pages/operator.tsx'
import { OperatorsPage } from './pages/operators.tsx'
import { OrchestrationPage } from './pages/orchestration.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { OwnLoginPage } from './pages/own-login.tsx'
import { PlanPage, PlansPage } from './pages/plans.tsx'
import { BalancesPage, ProfilePage } from './pages/profile.tsx'
import { REVIEW_ROUTES } from './pages/review/routes.tsx'
import { SettingsPage } from './pages/settings.tsx'
import { UsagePage } from './pages/usage/usage.tsx'
import { WebhookEndpointPage } from './pages/webhook-endpoint.tsx'
import { PageHead } from './ui/parts.tsx'

const ROUTES: readonly Route[] = [
  [/^\/$/, () => ({ title: 'Overview', content: <OverviewPage /> })],
  [/^\/markets$/, () => ({ title: 'Markets', content: <MarketsPage /> })],
  [
    /^\/markets\/([A-Z0-9]{1,20})$/,
    (symbol = '') => ({ title: symbol, content: <MarketPage key={symbol} symbol={symbol} /> }),
  ],
  [/^\/customers$/, () => ({ title: 'Customers', content: <CustomersPage /> })],
  record('customers', 'Customer', (id) => <CustomerPage key={id} id={id} />),
  record('customers/connections', 'Connection', (id) => <ConnectionPage key={id} id={id} />),
  record('clients', 'Client', (id) => <ClientPage key={id} id={id} />),
  [/^\/plans$/, () => ({ title: 'Plans', content: <PlansPage /> })],
  [
    /^\/plans\/([a-z0-9][a-z0-9_-]{0,49})$/,
    (name = '') => ({ title: name, content: <PlanPage key={name} name={name} /> }),
  ],
  [/^\/usage$/, () => ({ title: 'Usage', content: <UsagePage /> })],
  record('webhook-endpoints', 'Webhook endpoint', (id) => <WebhookEndpointPage key={id} id={id} />),
  ...REVIEW_ROUTES,
  [/^\/money(?:\/deposits)?$/, () => ({ title: 'Deposits', content: <DepositsPage /> })],
  [/^\/money\/orchestrations$/, () => ({ title: 'Orchestrations', content: <OrchestrationsPage /> })],
  [/^\/money\/deliveries$/, () => ({ title: 'Deliveries', content: <DeliveriesPage /> })],
  [/^\/money\/balances$/, () => ({ title: 'Balances', content: <BalancesPage /> })],
  [/^\/money\/desk$/, () => ({ title: 'Desk', content: <DeskPage /> })],
  [/^\/money\/entries$/, () => ({ title: 'Entries', content: <LedgerEntriesPage /> })],
  [/^\/money\/controls$/, () => ({ title: 'Pause', content: <ControlsPage /> })],
  record('money/deposits', 'Deposit', (id) => <DepositPage key={id} id={id} />),
  record('money/orchestrations', 'Orchestration', (id) => <OrchestrationPage key={id} id={id} />),
  record('money/deliveries', 'Delivery', (id) => <DeliveryPage key={id} id={id} />),
  record('money/profiles', 'Profile', (id) => <ProfilePage key={id} id={id} />),
  [/^\/settings$/, () => ({ title: 'Settings', content: <SettingsPage /> })],
  [/^\/doctor$/, () => ({ title: 'Doctor', content: <DoctorPage /> })],
  [/^\/operators$/, () => ({ title: 'Operators', content: <OperatorsPage /> })],
  [
    /^\/operators\/([a-z0-9][a-z0-9._@-]{0,63})$/,
    (name = '') => ({ title: name, content: <OperatorPage key={name} name={name} /> }),
  ],
  [/^\/login$/, () => ({ title: 'Your login', content: <OwnLoginPage /> })],
  [/^\/audit$/, () => ({ title: 'Audit', content: <AuditPage /> })],
]

export function pageOf(path: string): PageContent {
  for (const [pattern, page] of ROUTES) {
    const match = pattern.exec(path)
    if (match !== null) return page(...match.slice(1))
  }
  return {
    title: 'Not found',
    content: (
      <PageHead title="There is no page at this address" lead="Choose one in the navigation, or press Ctrl K." />
    ),
  }
}
