/** The worst level of each alert, from the steps in its life: it was not kept in the alert. */

export const sql = `
CREATE TEMP TABLE worst AS
  SELECT alert_id AS id, max(CASE json_extract(row, '$.alert.severity')
    WHEN 'critical' THEN 2 WHEN 'warning' THEN 1 ELSE 0 END) AS rank
  FROM alert_changes GROUP BY alert_id;
CREATE UNIQUE INDEX temp.worst_by_id ON worst (id);
UPDATE alerts SET row = json_set(row, '$.worstSeverity', CASE worst.rank WHEN 2 THEN 'critical' ELSE 'warning' END)
  FROM worst WHERE worst.id = alerts.id
    AND worst.rank > CASE json_extract(alerts.row, '$.severity') WHEN 'critical' THEN 2 WHEN 'warning' THEN 1 ELSE 0 END;
DROP TABLE worst;
`;
