# run.sh TOKENCTL
rm -rf /tmp/A/measure/home; mkdir -p -m 700 /tmp/A/measure/home/run
export HOME=/tmp/A/measure/home XDG_RUNTIME_DIR=/tmp/A/measure/home/run XDG_DATA_HOME=$HOME/data XDG_CONFIG_HOME=$HOME/config PCSCLITE_CSOCK_NAME=/nonexistent
printf 'correct\n' >$HOME/pw; chmod 600 $HOME/pw
$1 create-keychain -p correct login 2>/dev/null
time $1 import all.pem
time $1 import all.pem
