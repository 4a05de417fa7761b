# make            the command with its manual page and completions, and the C library, optimised and self-contained
# make demo       the main job from start to end on a virtual card; CARD=yes reads a real one
# make test       every test, none of which can be skipped, the demo, and what make install would install
# make install    into PREFIX (/usr/local), below DESTDIR for packagers; make uninstall takes it away
# make packages   Debian's packages, in dist
# make tarball    an archive for other distributions, in dist
# make test-packages  tries both in a Debian of their own, as root by sudo
# make bench      commands, bytes and time, beside OpenSC, yubico-piv-tool and sqlite3
# make lint       swift-format and the rules of this repository
# make format     lets swift-format rewrite what it can
# make reference  writes Documentation/attributes.md anew, from the table of attributes
# make sanitize   the tests under the address and the thread sanitizer; make sanitize-quick, parsers under the first
# make endure     the tests of deaths and crowds, for longer: 500 deaths of the session's host, 64 programs for 60 seconds
# make fuzz       every fuzz target for FUZZ_SECONDS (600) each

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

PREFIX ?= /usr/local
# Distributions have libraries in folders of their own, and PKCS#11 modules in another one.
LIBDIR ?= $(PREFIX)/lib
MODULEDIR ?= $(LIBDIR)
DESTDIR ?=
# A package's build leaves the symbols to debhelper (STRIP=true), and installs nothing on the machine (PREREQUISITES=true).
STRIP ?= strip
PREREQUISITES ?= Scripts/prerequisites
CARD ?=
FUZZ_SECONDS ?= 600
# Which tests run under a sanitizer: all.
SUITES ?= .

tokenctl := .build/release/tokenctl
consumers := IntegrationTests\.(BrokenHost|Browser|ClientCertificate|Engine|FalseHost|Flood|Git|GnuTLS|HeldCard|HostDeath|HostProgram|HostileClient|IdleProgram|Java|Kerberos|KeyGeneration|Log|Module|ModuleFile|ModuleProcess|NSS|Nginx|OpenSSH|P11Kit|PAM|PINPadModule|PKCS11Tool|Python|RemoteModule|Restart|ReturnValue|SSSD|SecretKeyModule|SharedHost|SigningProgram|Stunnel|URI|WireVersion)Tests
# What is installed has libstdc++ in it, since loading it takes a third of the time that loading the module does, and needs no
# folder to look for libraries in. The linker takes the first libstdc++ that it finds.
# CPPFLAGS, CFLAGS and LDFLAGS are for compilers of C and their linker: SwiftPM takes each word of them after an option.
comma := ,
flags = $(addprefix -Xcc ,$(CPPFLAGS) $(CFLAGS)) $(SWIFTFLAGS) \
    $(addprefix -Xlinker ,$(subst $(comma), ,$(patsubst -Wl$(comma)%,%,$(filter -Wl$(comma)%,$(LDFLAGS)))))
release = swift build -c release --disable-local-rpath -Xcc '-DTOKENKIT_HOST="$(PREFIX)/libexec/tokenkitd"' $(flags) \
    -Xlinker -L$(CURDIR)/.build/static --product
# The time of a file that names the day of its making.
date = $(if $(SOURCE_DATE_EPOCH),--date=@$(SOURCE_DATE_EPOCH),--reference=CHANGELOG.md)
install = PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' MODULEDIR='$(MODULEDIR)' DESTDIR='$(DESTDIR)' Scripts/install
# A language is a file of translations.
languages := $(patsubst po/%.po,%,$(wildcard po/*.po))
sources := Package.swift $(shell find Sources -name '*.swift' -o -name '*.[ch]')

.PHONY: all demo test install uninstall packages tarball test-packages bench lint format reference sanitize sanitize-address sanitize-thread sanitize-quick endure fuzz clean

all: .build/install/tokenctl .build/install/tokenkitd .build/install/libtokenkit-keychain.so.1 .build/install/libtokenkit-pkcs11.so \
    $(languages:%=.build/install/locale/%.mo)

.build/static/libstdc++.a:
	mkdir -p $(@D)
	ln -sf "$$(clang -print-file-name=$(@F))" $@

$(tokenctl): $(sources) | .build/static/libstdc++.a
	$(PREREQUISITES) build
	$(release) tokenctl --static-swift-stdlib
	touch $@ # which the build leaves alone where nothing of it has changed

demo: $(tokenctl) .build/install/tokenkitd
	$(PREREQUISITES) demo
	CARD='$(CARD)' Scripts/demo $(tokenctl)

test:
	$(PREREQUISITES) build test
	$(MAKE) --no-print-directory all
	swift build --build-tests
	Scripts/test-install
	CARD= Scripts/demo $(tokenctl)

install: all
	$(install)

uninstall:
	$(install) --remove

packages:
	$(PREREQUISITES) build packages
	Scripts/packages

tarball: all
	Scripts/tarball

test-packages:
	$(PREREQUISITES) test-packages
	Scripts/test-packages $(DEBIAN)

# What is installed is made here, so that make install needs no toolchain once make has run.
.build/install/tokenctl: $(tokenctl) CHANGELOG.md Documentation/tokenctl.mdoc
	mkdir -p $(@D)
	for shell in bash zsh fish; do $< --generate-completion-script "$$shell" >$(@D)/tokenctl."$$shell"; done
	sed -i '1{/^#!/d}' $(@D)/tokenctl.bash # which is not run as a program
	swift build --product generate-manual
	.build/debug/generate-manual $< --output-directory $(@D) --date "$$(date -u $(date) +%F)"
	sed -i -e 's/^$$/.Pp/' -e '/^.Sh "EXIT STATUS"/,$$d' $(@D)/tokenctl.1 # as mdoc(7) has paragraphs
	sed -i -e '/^What people come for:/a .Bd -literal -compact' -e '/^  bind-keychain /a .Ed' $(@D)/tokenctl.1 # and lists
	cat Documentation/tokenctl.mdoc >>$(@D)/tokenctl.1
	cp --remove-destination $< $@
	$(STRIP) $@

.build/install/libtokenkit-keychain.so.1: $(sources)
	$(PREREQUISITES) build
	$(release) tokenkit-keychain
	rm -f .build/release/libtokenkit-keychain-static.a # which would keep the objects of sources that are gone
	$(release) tokenkit-keychain-static
	mkdir -p $(@D)
	Scripts/static-library .build/release/libtokenkit-keychain-static.a $(@D)/libtokenkit-keychain.a
	cp --remove-destination .build/release/libtokenkit-keychain.so $@
	$(STRIP) --strip-unneeded $@

.build/install/locale/%.mo: po/%.po
	$(PREREQUISITES) build
	mkdir -p $(@D)
	msgfmt --check --output-file=$@ $<

.build/install/tokenkitd: $(sources) | .build/static/libstdc++.a
	$(PREREQUISITES) build
	$(release) tokenkitd --static-swift-stdlib
	mkdir -p $(@D)
	cp --remove-destination .build/release/tokenkitd $@
	$(STRIP) $@

.build/install/libtokenkit-pkcs11.so: $(sources)
	$(PREREQUISITES) build
	$(release) tokenkit-pkcs11
	mkdir -p $(@D)
	cp --remove-destination .build/release/libtokenkit-pkcs11.so $@
	$(STRIP) --strip-unneeded $@

bench: $(tokenctl) .build/install/tokenkitd .build/install/libtokenkit-pkcs11.so
	$(PREREQUISITES) bench
	Scripts/bench $(tokenctl) .build/install/libtokenkit-pkcs11.so
	Scripts/bench-host $(tokenctl) .build/install/libtokenkit-pkcs11.so
	Scripts/bench-programs $(tokenctl) .build/install/libtokenkit-pkcs11.so
	Scripts/bench-keychain $(tokenctl)

lint:
	$(PREREQUISITES) lint
	Scripts/lint

format:
	swift format --in-place --recursive --parallel Package.swift Sources Tests Examples

reference:
	TOKENKIT_WRITE_REFERENCE=1 swift test --filter AttributeReferenceTests

sanitize: sanitize-address sanitize-thread

# Leaks are not looked for: XCTest and Foundation's Process have some of their own. Nor is a key looked for in the memory of other
# processes; nor are modules to crash, which the sanitizers report in their own way; nor is the module loaded by programs that know
# nothing of a sanitizer, nor its file read, nor the C library: $(consumers). Nor do programs with more rights than their caller run, since they take no options of the
# sanitizer from him: leaks were looked for, and that cannot be done there.
unsanitized := $(consumers)|CLibraryFileTests|CProcessTests|KeyInMemoryTests|MisbehavingModuleTests|/aProgramWithMoreRights|/aProgramOfAnotherUserRefuses
sanitize-address:
	$(PREREQUISITES) build test
	swift build --build-tests --sanitize=address --scratch-path .build-address
	ASAN_OPTIONS=detect_leaks=0 swift test --skip-build --sanitize=address --scratch-path .build-address \
	    --filter '$(SUITES)' --skip '$(unsanitized)'

# Swift's mutex is taught to the sanitizer; and a test forks, and lets the child start a thread, as hosts of modules do. Programs with
# the C library start hosts that nothing teaches the mutex: their tests are left out. So are those that start processes by the thousand,
# each of which is looked at alone: they take hours; and those of modules without a thread of their own, and of the command, whose
# threads are the host's.
threadless := ^(Fuzz|KeychainModel|SystemCrypto|Tokenctl|Wire)Tests\.
sanitize-thread:
	$(PREREQUISITES) build test
	mkdir -p .build-thread
	clang -shared -fPIC -O1 -Wall -Wextra -Werror -o .build-thread/mutex.so Tests/Sanitizers/mutex.c
	swift build --build-tests --sanitize=thread --scratch-path .build-thread
	TSAN_OPTIONS=die_after_fork=0 LD_PRELOAD="$$PWD/.build-thread/mutex.so" \
	    swift test --skip-build --sanitize=thread --scratch-path .build-thread \
	        --filter '$(SUITES)' --skip '$(unsanitized)|$(threadless)|C(Library|LibraryFile|Process|Keychain|Search|Refusal)Tests|(KilledWriters|ManyProcesses)Tests'

# Parsers of what cards and processes send, the card and its transactions, the keychain's file, and secrets: minutes, so that each
# change can go through it (.ci/run).
store := $(shell ls Tests/KeychainHostTests/Store | sed -n 's/Tests\.swift$$//p' | grep -vE '^(KilledWriters|ManyProcesses)$$' | paste -sd '|')
sanitize-quick: SUITES := ^(Fuzz|HostServer|KeychainStore|PIVDriver|Platform|SecureBytes|TokenKit|VirtualCard|Wire)Tests\.|^KeychainHostTests\.($(store))Tests|^SystemCryptoTests\.(DER|OID|PEM|Certificate|PrivateKey|PKCS12|OpenSSH)|WipingTests
sanitize-quick: sanitize-address

endure:
	$(PREREQUISITES) build test
	TOKENKIT_DEATHS=500 TOKENKIT_CROWD_SECONDS=60 swift test --filter 'SessionDeathTests|SessionCrowdTests'

fuzz: $(tokenctl) .build/install/tokenkitd
	$(PREREQUISITES) build fuzz
	Scripts/fuzz '$(FUZZ_SECONDS)'

clean:
	rm -rf .build .build-*
