/** The pages under Review. */
import { type Route, record } from '../../base/page-route.ts'
import { AccountPage } from './account.tsx'
import { ChangeRequestPage } from './change-request.tsx'
import { DestinationPage, DestinationsPage } from './destination.tsx'
import { AccountsPage, AddressesPage, RequestsPage, RulesPage } from './lists.tsx'
import { QueuePage } from './queue.tsx'
import { RulePage } from './rule.tsx'
import { ScreeningPage, ScreeningsPage } from './screening.tsx'

export const REVIEW_ROUTES: readonly Route[] = [
  [/^\/review$/, () => ({ title: 'Queue', content: <QueuePage /> })],
  [/^\/review\/accounts$/, () => ({ title: 'Accounts', content: <AccountsPage /> })],
  [/^\/review\/destinations$/, () => ({ title: 'Destinations', content: <DestinationsPage /> })],
  [/^\/review\/screening$/, () => ({ title: 'Screening', content: <ScreeningsPage /> })],
  [/^\/review\/rules$/, () => ({ title: 'Rules', content: <RulesPage /> })],
  [/^\/review\/requests$/, () => ({ title: 'Four eyes', content: <RequestsPage /> })],
  [/^\/review\/addresses$/, () => ({ title: 'Addresses', content: <AddressesPage /> })],
  record('review/accounts', 'Account', (id) => <AccountPage key={id} id={id} />),
  record('review/destinations', 'Destination', (id) => <DestinationPage key={id} id={id} />),
  record('review/screening', 'Screening', (id) => <ScreeningPage key={id} id={id} />),
  record('review/rules', 'Rule', (id) => <RulePage key={id} id={id} />),
  record('review/requests', 'Request', (id) => <ChangeRequestPage key={id} id={id} />),
]
