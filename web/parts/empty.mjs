import { html } from '../html.mjs';

/** What a screen without content says, and how that changes. */
export function Empty({ title, isHeading = false, children }) {
  return html`<div class="empty">${isHeading ? html`<h1 class="title">${title}</h1>` : html`<p class="title">${title}</p>`}${children}</div>`;
}

/** A failed or pending load of a screen. */
export function Loading({ error }) {
  if (!error) return html`<p class="loading">Loading …</p>`;
  return html`<p class="problem" role="alert">${error.message} ${error.hint ?? ''}</p>`;
}
