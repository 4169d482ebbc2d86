import { moment } from '../format.mjs';
import { html } from '../html.mjs';
import { confirm } from '../parts/dialog.mjs';
import { Empty, Loading } from '../parts/empty.mjs';
import { useData } from '../parts/load.mjs';
import { AgentRow } from '../parts/rows.mjs';
import { mayAct, perform, send } from '../session.mjs';
import { groups, isActive, totals } from '../store.mjs';

export function Squads() {
  const stamp = `${totals.value?.value.stamps.journal} ${groups.value.running.length}`;
  const { data, error } = useData('/web/squads', stamp);
  return html`
    <header class="top"><div><h1>Squads</h1><p class="summary">Agents that one call started, each with a role.</p></div></header>
    ${data ? null : html`<${Loading} error=${error} />`}
    ${data?.squads.length === 0 ? html`<${Empty} title="There are no squads yet."><p>A client starts one with the tool <code>start_squad_members</code>.</p><//>` : null}
    ${data?.squads.map((squad) => html`<${Squad} key=${squad.squadId} squad=${squad} />`)}`;
}

function Squad({ squad }) {
  const active = squad.members.filter(({ agent }) => agent && isActive(agent));
  return html`
    <section aria-labelledby=${squad.squadId}>
      <div class="section-head">
        <h2 id=${squad.squadId}>${squad.squadId} <span class="count">${squad.members.length}</span></h2>
        <span class="note num">${moment(squad.created_at)}, ${squad.stateMode}</span>
        ${active.length > 1 && mayAct() ? html`<button class="button small danger" onClick=${() => cancelAll(squad, active)}>Cancel all ${active.length}…</button>` : null}
      </div>
      <div class="table">
        <ul class="rows" aria-label=${`Members of ${squad.squadId}`}>
          ${squad.members.map((member) => (member.agent ? html`<${AgentRow} key=${member.agent_id} id=${`agent:${member.agent_id}`} row=${member.agent} />` : html`<li class="gone"><span class="id">${member.agent_id}</span> ${member.roleId}: not in the record any more</li>`))}
        </ul>
      </div>
    </section>`;
}

function cancelAll({ squadId }, active) {
  const reason = `all of ${squadId}`;
  confirm({
    title: `Cancel ${active.length} agents of ${squadId}?`,
    yes: 'Cancel agents',
    no: 'Keep them running',
    act: () =>
      perform(
        () =>
          Promise.all(
            active.map(({ agent_id: id }) =>
              send(`/web/agents/${id}/cancel`, { reason })
            )
          ),
        (all) => `${all.length} agents of ${squadId} were canceled.`
      ),
    content: html`
      <p>They and every process they started are stopped. Their output so far is kept.</p>
      <ul class="files">${active.map(({ agent_id: id, memberId }) => html`<li><span class="id">${id}</span> ${memberId}</li>`)}</ul>`
  });
}
