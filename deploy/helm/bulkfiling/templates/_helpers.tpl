{{- define "bulkfiling.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The prefix of every object's name; short enough for "-server". */}}
{{- define "bulkfiling.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains (include "bulkfiling.name" .) .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "bulkfiling.name" .) | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "bulkfiling.selector" -}}
app.kubernetes.io/name: {{ include "bulkfiling.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "bulkfiling.labels" -}}
{{ include "bulkfiling.selector" . }}
app.kubernetes.io/part-of: bulkfiling
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "bulkfiling.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end }}
{{- end }}

{{/* The seconds of FILING_TIMEOUT, which the schema holds to the form 1h2m3s. */}}
{{- define "bulkfiling.timeout" -}}
{{- $text := .Values.settings.FILING_TIMEOUT }}
{{- $seconds := 0 }}
{{- range $unit, $length := dict "h" 3600 "m" 60 "s" 1 }}
{{- $part := regexFind (printf "[0-9]+%s" $unit) $text | trimSuffix $unit }}
{{- $seconds = add $seconds (mul (atoi (default "0" $part)) $length) }}
{{- end }}
{{- $seconds }}
{{- end }}

{{/* The workers' grace period: FILING_TIMEOUT < the drain, 10 seconds longer < this. */}}
{{- define "bulkfiling.grace" -}}
{{- $drain := add (atoi (include "bulkfiling.timeout" .)) 10 }}
{{- with .Values.worker.terminationGracePeriodSeconds }}
{{- if le (int64 .) (int64 $drain) }}
{{- fail (printf "worker.terminationGracePeriodSeconds is %d, and a worker drains for up to %d seconds (settings.FILING_TIMEOUT and 10): set more, or null" (int64 .) (int64 $drain)) }}
{{- end }}
{{- . }}
{{- else }}
{{- add $drain 20 }}
{{- end }}
{{- end }}

{{/* The variables of every container. */}}
{{- define "bulkfiling.environment" -}}
{{- $secrets := "/run/secrets/bulkfiling" }}
{{- range $name, $value := .Values.settings }}
{{- if ne $name "PUBLIC_URL" }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end }}
{{- $host := ternary (printf "https://%s" .Values.ingress.host) "" .Values.ingress.enabled }}
PUBLIC_URL: {{ .Values.settings.PUBLIC_URL | default $host | quote }}
FILING_FEES: {{ ternary "/etc/bulkfiling/state-fees.csv" "" (ne .Values.stateFees.existingConfigMap "") | quote }}
FILING_BACKUP_DIR: {{ ternary "/backups" "" (ne .Values.backups.existingClaim "") | quote }}
{{- range list "filing_api_key" "filing_seal_key" "database_url" "redis_url" }}
{{ upper . }}_FILE: {{ printf "%s/%s" $secrets . }}
{{- end }}
{{- range list "filing_notify" "filing_webhook_secret" "filing_backup_passphrase" "oidc_client_secret" }}
{{ upper . }}_FILE: {{ ternary (printf "%s/%s" $secrets .) "" (index $.Values.secrets .) | quote }}
{{- end }}
OTEL_EXPORTER_OTLP_HEADERS_FILE: {{ ternary (printf "%s/otel_headers" $secrets) "" .Values.secrets.otel_headers | quote }}
{{- end }}

{{/* What the pods of both deployments have in common. */}}
{{- define "bulkfiling.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .Values.podSecurityContext.runAsUser }}
  runAsGroup: {{ .Values.podSecurityContext.runAsGroup }}
  fsGroup: {{ .Values.podSecurityContext.fsGroup }}
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "bulkfiling.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{- define "bulkfiling.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "bulkfiling.mounts" -}}
- { name: data, mountPath: /data }
- { name: tmp, mountPath: /tmp }
- { name: secrets, mountPath: /run/secrets/bulkfiling, readOnly: true }
{{- if .Values.stateFees.existingConfigMap }}
- { name: files, mountPath: /etc/bulkfiling, readOnly: true }
{{- end }}
{{- end }}

{{- define "bulkfiling.volumes" -}}
# Locks alone: a container that is started again in its pod is known at once to have
# died, and its rows are resolved.
- name: data
  emptyDir: {}
- name: tmp
  emptyDir: {}
- name: secrets
  secret: { secretName: {{ .Values.secrets.existingSecret }}, defaultMode: 0440 }
{{- with .Values.stateFees.existingConfigMap }}
- name: files
  configMap: { name: {{ . }} }
{{- end }}
{{- end }}

{{/* Egress that every pod of ours has. */}}
{{- define "bulkfiling.egress" -}}
{{- with .Values.networkPolicy }}
- to:
    - namespaceSelector:
        matchLabels: { kubernetes.io/metadata.name: {{ .dnsNamespace }} }
  ports:
    - { protocol: UDP, port: 53 }
    - { protocol: TCP, port: 53 }
# PostgreSQL and Redis.
- to:
    - podSelector:
        matchLabels: {{- toYaml .data.podLabels | nindent 10 }}
    {{- range .data.cidrs }}
    - ipBlock: { cidr: {{ . | quote }} }
    {{- end }}
  ports:
    {{- range .data.ports }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
# The filing service, documents, notifications and mail, and nothing that is private.
- to:
    - ipBlock:
        cidr: 0.0.0.0/0
        except: [0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 168.63.129.16/32, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16, 198.18.0.0/15, 224.0.0.0/4, 240.0.0.0/4]
    - ipBlock: { cidr: "2000::/3" }
  ports:
    {{- range .publicPorts }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
{{- with .extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}
