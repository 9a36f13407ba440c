/** Components of the console without a browser: what they draw is dropped, so they need no document but their effects. */

export interface Headless {
  /** Renders a component in place of the last one. */
  show(component: () => null): void
  /**
   * Takes the component away, and waits for the cleanups of its effects: they run a frame later, when a test that had
   * ended has taken the document away.
   */
  close(): Promise<void>
}

export async function headless(): Promise<Headless> {
  // Not by literal names: their types would bring the browser's names into all tests.
  const { h, render } = await import('preact' as string)
  const { useEffect } = await import('preact/hooks' as string)
  const root = { childNodes: [], nodeType: 1 } as never
  const show = (component: () => null) => render(h(component, {}), root)
  return {
    show,
    async close() {
      // Cleanups of what was taken away run before an effect of what took its place.
      await new Promise<void>((resolve) =>
        show(() => {
          useEffect(() => resolve(), [])
          return null
        }),
      )
      render(null, root)
    },
  }
}
