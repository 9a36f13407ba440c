/** Starts the console: theme, routes, the session, and the application. */
import { render } from 'preact'
import { App } from './app.tsx'
import { startRouter } from './base/router.ts'
import { loadSession } from './base/session.ts'
import { startTheme } from './base/theme.ts'
import 'uplot/dist/uPlot.min.css'
import './styles/tokens.css'
import './styles/base.css'
import './styles/shell.css'
import './styles/parts.css'
import './styles/pages.css'

startTheme()
startRouter()
void loadSession()
render(<App />, document.getElementById('app') as HTMLElement)
