import { html } from '../html.mjs';

/** A state as text, next to its colour. */
export function Status({ of }) {
  return html`<span class=${`status is-${of}`}><i aria-hidden="true"></i>${of}</span>`;
}
