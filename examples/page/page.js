/** Gives the element tokens: the page has no secret, and asks its own server, which knows who looks at it. */
document.querySelector('tidegate-book').authenticate = {
  async token(signal) {
    const response = await fetch('/stream-token', { method: 'POST', signal })
    if (!response.ok) throw new Error(`/stream-token answered ${response.status}`)
    return response.text()
  },
  discard() {
    // A token that the service refused. None is kept here that would have to be forgotten.
  },
}
