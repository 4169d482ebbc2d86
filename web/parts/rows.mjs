import { dollars } from '../format.mjs';
import { html } from '../html.mjs';
import { markRead } from '../reading.mjs';
import { rowOf } from '../store.mjs';
import { Age, Ago, Quiet } from './age.mjs';
import { Status } from './status.mjs';

/** A list of agents; each row redraws by itself. */
export function AgentRows({ rows, label }) {
  return html`
    <div class="table">
      <div class="head" aria-hidden="true">
        <span>State</span><span>Agent</span><span>Engine</span>
        <span>Task</span><span class="right">Time</span>
        <span class="right">Cost</span><span class="right">Lines</span>
      </div>
      <ul class="rows" aria-label=${label}>
        ${rows.map(({ id }) => html`<${AgentRow} key=${id} id=${id} />`)}
      </ul>
    </div>`;
}

/** @param row of a list that is not live, else the live row by its id */
export function AgentRow({ id, row: fixed }) {
  const row = rowOf(id)?.value ?? fixed;
  if (!row) return null;
  return html`
    <li>
      <a class="row" href=${`/agents/${row.agent_id}`} data-row=${row.agent_id}
        onClick=${() => markRead(row)}>
        <span class="cell state"><${Status} of=${row.status} /></span>
        <span class="cell id">${row.agent_id}</span>
        <span class="cell engine">${row.agent_type}<${Model} of=${row} /></span>
        <span class="cell task"><span class="what">${row.task || '(no task)'}</span><${Doing} row=${row} /></span>
        <span class="cell time right"><${Age} row=${row} /></span>
        <span class="cell cost right">${dollars(row.cost_usd) || html`<span class="none" title="not known">–</span>`}</span>
        <span class="cell lines right"><${Lines} row=${row} /></span>
      </a>
    </li>`;
}

function Model({ of: { model } }) {
  return model === 'default' ? null : html`<small>${model}</small>`;
}

function Doing({ row }) {
  const isOver = row.completed_at !== null;
  const from = row.parent ? `agent ${row.parent}` : row.client;
  const facts = [from, row.squad?.memberId].filter(Boolean);
  const text = isOver ? row.doing : row.doing || 'no output yet';
  return html`<span class=${`doing${isOver && text ? ' error' : ''}`}>
    ${isOver ? html`<span class="when"><${Ago} at=${row.completed_at} /></span>` : html`<span class="quiet"><${Quiet} row=${row} /></span>`}
    ${isOver ? null : facts.map((fact) => html`<span class="fact">${fact}</span>`)}
    <span class="words">${text}</span>
  </span>`;
}

export function Lines({ row }) {
  const { lines_added: added, lines_removed: removed } = row;
  if (added === null || added === undefined)
    return html`<span class="none" title="not known">–</span>`;
  if (added === 0 && removed === 0) return html`<span class="none">0</span>`;
  return html`<span class="added">+${added}</span> <span class="removed">−${removed}</span>${row.lines_shared ? html`<small title="another agent may have changed some of them"> shared</small>` : null}`;
}
